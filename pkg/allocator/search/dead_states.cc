// Search: classes of interchangeable devices, and states proven to have no solution.
//
// Two devices are interchangeable if every candidate set, constraint column, counter and capacity treats them alike. If
// no solution assigns the first of them at some place, none assigns the second there: swapping the two would turn it
// into one with the first (within a request later picks have larger numbers, so the swap keeps their order).
//
// A state is (request, alternative, devices placed, position) with everything the rest of the search can still observe:
// devices assigned among later candidates, those that an assigned name of the same silicon excludes, values of
// constraints with later members, values of devices in pairs, counters and shared capacities that those candidates use,
// results of the claim. States are identified by 128-bit hashes.
#include <algorithm>
#include <map>

#include "pkg/allocator/search/search.h"
#include "pkg/inventory/hash128.h"

namespace dra::allocator {

using inventory::Amount;
using inventory::CounterUse;
using inventory::Hash128;
using inventory::Pool;

namespace {

struct Mixer : inventory::Hash128 {
  void add_amount(Amount v) {
    add(static_cast<uint64_t>(v));
    add(static_cast<uint64_t>(v >> 64));
  }
};

template <class T>
void append(std::string& key, T v) {
  key.append(reinterpret_cast<const char*>(&v), sizeof v);
}

}  // namespace

void Search::set_up_dead_states() {
  keeps_dead_states_ = true;
  size_t words = matrix_.words();
  size_t requests = plan_->requests.size();
  // Classes, keyed by the exact text of everything that matters.
  std::unordered_map<std::string, uint32_t> classes;
  class_of_.assign(words * 64, 0);
  inventory::Words any(words, 0);
  for (const PlanRequest& request : plan_->requests)
    for (const PlanAlternative& alternative : request.alternatives)
      for (size_t w = 0; w < words; ++w)
        any[w] |= pool_of_choice(alternative)[w] | (alternative.all ? matrix_.selectable(alternative.slot)[w] : 0);
  std::string key;
  for (size_t local = inventory::next_bit(any.data(), words, 0); local != SIZE_MAX;
       local = inventory::next_bit(any.data(), words, local + 1)) {
    auto number = static_cast<uint32_t>(local);
    const MatrixSegment& segment = matrix_.segment_of(number);
    const Pool& pool = *segment.pool;
    uint32_t device = matrix_.device_of(segment, number);
    key.clear();
    for (uint32_t slot = 0; slot < plan_->filters.size(); ++slot)
      key += static_cast<char>(inventory::test_bit(matrix_.candidates(slot), local) |
                               inventory::test_bit(matrix_.usable(slot), local) << 1 |
                               (plan_->any_all && inventory::test_bit(matrix_.selectable(slot), local)) << 2);
    for (const Column* column : plan_columns_) append(key, column->value[local]);
    append_derived(number, key);
    key += static_cast<char>(pool.shareable(device) | inventory::test_bit(pool.charged(), device) << 1);
    for (const CounterUse* use = pool.uses_begin(device); use != pool.uses_end(device); ++use) {
      append(key, segment.first_counter + use->counter);
      append(key, use->amount);
    }
    if (pool.any_groups()) append_groups(segment, device, key);
    if (plan_->counts_takes) append_takes(pool, device, key);
    // Which of its rivals is taken matters: it is like no other device.
    if (any_rivals_ && has_rival_in(number, any)) append(key, number);
    if (pool.shareable(device)) {
      append(key, pool.shape(device).serial);
      if (const std::vector<Amount>* held = pool.shared(device))
        for (Amount amount : *held) append(key, amount);
      if (const std::vector<inventory::SharedTerms>* terms = pool.shared_terms(device))
        for (const inventory::SharedTerms& one : *terms) append(key, uint64_t{one.terms} << 32 | one.shares);
    }
    class_of_[local] = classes.try_emplace(key, static_cast<uint32_t>(classes.size())).first->second;
  }
  // What the rest of the search uses, by request.
  future_.assign(requests + 1, inventory::Words(words, 0));
  last_user_.assign(requests, std::vector<uint32_t>(matrix_.counters(), 0));
  future_user_.assign(requests + 1, std::vector<uint8_t>(matrix_.counters(), 0));
  for (size_t r = requests; r-- > 0;) {
    inventory::Words own(words, 0);
    for (const PlanAlternative& alternative : plan_->requests[r].alternatives)
      for (size_t w = 0; w < words; ++w)
        own[w] |= pool_of_choice(alternative)[w] | (alternative.all ? matrix_.selectable(alternative.slot)[w] : 0);
    future_user_[r] = future_user_[r + 1];
    for (size_t local = inventory::next_bit(own.data(), words, 0); local != SIZE_MAX;
         local = inventory::next_bit(own.data(), words, local + 1)) {
      const MatrixSegment& segment = matrix_.segment_of(static_cast<uint32_t>(local));
      uint32_t device = matrix_.device_of(segment, static_cast<uint32_t>(local));
      for (const CounterUse* use = segment.pool->uses_begin(device); use != segment.pool->uses_end(device); ++use) {
        last_user_[r][segment.first_counter + use->counter] = static_cast<uint32_t>(local) + 1;
        future_user_[r][segment.first_counter + use->counter] = 1;
      }
    }
    for (size_t w = 0; w < words; ++w) future_[r][w] = own[w] | future_[r + 1][w];
  }
}

void Search::add_dead(const inventory::Hash128& state) {
  // Allocates all buckets at once: rehashing more states than this takes long.
  constexpr size_t kFewStates = 40'000;
  if (dead_.size() >= kMaxDeadStates) return;
  if (dead_.size() == kFewStates) dead_.reserve(kMaxDeadStates);
  dead_.insert(state);
}

// What this decision has assigned of a shareable device; 0: nothing.
uint64_t Search::shared_state(uint32_t local) const {
  for (const SharedUse& use : shared_) {
    if (use.local != local) continue;
    Mixer mix;
    mix.add(uint64_t{use.picks > 0});
    for (Amount sum : use.sums) mix.add_amount(sum);
    mix.add(use.terms);
    if (plan_->any_admin) mix.add(uint64_t{local});
    return mix.a | 1;
  }
  return plan_->any_admin && inventory::test_bit(assigned_.data(), local) ? 2 * uint64_t{local} + 2 : 0;
}

Hash128 Search::state_key(uint32_t r, uint32_t a, uint32_t placed, uint32_t from) const {
  const PlanRequest& request = plan_->requests[r];
  Mixer mix;
  mix.add(uint64_t{r} << 32 | a);
  mix.add(uint64_t{placed} << 32 | from);
  if (pairs_) mix.add(pair_state_);
  if (plan_->any_prioritized || plan_->any_all) mix.add(results_[request.claim] - uint64_t{placed});
  const inventory::Words& later = future_[r + 1];
  const uint64_t* now = pool_of_choice(request.alternatives[a]);
  auto relevant = [&](size_t w) {
    uint64_t word = later[w];
    if (w == from >> 6) word |= now[w] & (~uint64_t{0} << (from & 63));
    if (w > from >> 6) word |= now[w];
    return word;
  };
  for (size_t w = 0; w < assigned_.size(); ++w)
    if (uint64_t word = assigned_[w] & relevant(w)) {
      mix.add(w);
      mix.add(word);
    }
  if (any_rivals_)
    for (size_t w = 0; w < excluded_.size(); ++w)
      if (uint64_t word = excluded_[w] & relevant(w)) {
        mix.add(w + 0x300000000ull);
        mix.add(word);
      }
  if (plan_->any_admin)
    for (const Pick& pick : picks_)
      if (plan_->requests[pick.request].claim == request.claim) mix.add(uint64_t{pick.local} + 1);
  for (size_t c = 0; c < plan_->constraints.size(); ++c) {
    const PlanConstraint& spec = plan_->constraints[c];
    if ((spec.claim != request.claim && spec.claim != kAllClaims) || spec.requests.empty() ||
        (spec.requests.back() < r && (spec.list == nullptr || spec.list->least == 0)))
      continue;
    mix.add(c + 0x100000000ull);
    if (spec.list != nullptr) {
      mix.add(value_match_[c].state());
      continue;
    }
    if (spec.distinct) {
      for (size_t v = 0; v < used_values_[c].size(); ++v)
        if (used_values_[c][v] != 0) mix.add(v);
      continue;
    }
    mix.add(uint64_t{match_[c].values});
    if (match_[c].values == 1) mix.add(uint64_t{match_[c].single});
    for (uint32_t v : match_[c].many) mix.add(uint64_t{v});
  }
  for (uint32_t counter = 0; counter < charged_.size(); ++counter) {
    if (charged_[counter] == 0) continue;
    if (last_user_[r][counter] <= from && !future_user_[r + 1][counter]) continue;
    mix.add(uint64_t{counter} + 0x200000000ull);
    mix.add_amount(charged_[counter]);
  }
  // These are unordered: combine them with a sum.
  uint64_t sum_a = 0;
  uint64_t sum_b = 0;
  for (const SharedUse& use : shared_) {
    if (!(relevant(use.local >> 6) >> (use.local & 63) & 1)) continue;
    Mixer one;
    one.add(uint64_t{use.local});
    for (Amount amount : use.sums) one.add_amount(amount);
    one.add(use.terms);
    sum_a += one.a;
    sum_b += one.b;
  }
  mix.add(sum_a);
  mix.add(sum_b);
  if (!group_states_.empty()) add_groups(mix);
  if (!taken_.empty()) add_room(mix);
  return mix;
}

}  // namespace dra::allocator
