// Search: pairs. What an entry still can become bounds every state, before anything is tried and after each device.
//
// A state is refuted if the devices taken, with those that the requests can still take, cannot form as many groups as
// the entry asks (groups/group_counter.h). Open match constraints are fixed first: if one of them touches an entry, the
// groups must be possible with one of the values that it can still have. What decides in the end is pairs_hold(): the
// devices taken form the groups.
//
// Between alternatives nothing is known of a later request but the union of what they allow: the fewest groups that one
// of them makes, from the candidates of all.
#include <algorithm>

#include "pkg/allocator/search/search.h"

namespace dra::allocator {

using inventory::count_bits;
using inventory::Words;

namespace {

constexpr uint64_t kBoundWork = 200'000;       // of GroupCounter, for one bound
constexpr uint64_t kStateWork = 2'000'000;     // for one state; beyond, it counts as possible
constexpr uint64_t kDecisionWork = 5'000'000;  // for the groups of a complete choice
constexpr uint64_t kPairWorkPerStep = 256;
constexpr uint32_t kMostValues = 64;  // of an open match constraint; with more it is not fixed first

void add_value(const Column& column, uint32_t local, uint32_t id, std::vector<GroupDevice>& devices) {
  devices.push_back({column.begin(local), column.end(local), id});
}

}  // namespace

// The devices of claims that are allocated already, by their place on this node.
void Search::begin_pairs() {
  pair_state_ = 0;
  allocated_.clear();
  for (const PlanPairs& entry : plan_->pairs)
    for (const PlanPairTerm& term : entry.terms) {
      if (term.allocated == nullptr) continue;
      for (const Anchor& device : *term.allocated) allocated_.push_back(find_allocated(device));
    }
}

// inventory::kNone: this node does not see it.
uint32_t Search::find_allocated(const Anchor& device) const {
  const auto segment = std::find_if(matrix_.segments().begin(), matrix_.segments().end(), [&](const auto& one) {
    return one.pool->driver_text == device.driver && one.pool->name_text == device.pool;
  });
  const inventory::StrId name = device_index_.strings().find(device.device);
  if (segment == matrix_.segments().end() || name == inventory::kNoStr) return inventory::kNone;
  const uint32_t number = matrix_.find_here(*segment, name);
  return number == inventory::kNone ? number : segment->first_word * 64 + number;
}

uint64_t Search::pair_mark(uint32_t r, uint32_t local) const {
  uint64_t sum = 0;
  for (const PlanPairs& entry : plan_->pairs) {
    if (entry.implied) break;
    for (const PlanPairTerm& term : entry.terms)
      if (term.allocated == nullptr && term.requests.front() == r) {
        inventory::Hash128 mix;
        mix.add(uint64_t{r} << 32 | plan_columns_[entry.column]->value[local]);
        mix.add(static_cast<uint64_t>(&entry - plan_->pairs.data()));
        sum += mix.a;
      }
  }
  return sum;
}

// How many devices a request takes: known once its alternative is chosen. False: no alternative suffices for a group.
bool Search::taken_by(uint32_t r, const PairPlace& at, uint32_t number, uint64_t& least, uint64_t& most) const {
  const PlanRequest& request = plan_->requests[r];
  least = UINT64_MAX;
  most = 0;
  for (uint32_t a = 0; a < request.alternatives.size(); ++a) {
    if (r < at.chosen && a != chosen_[r]) continue;
    const PlanAlternative& alternative = request.alternatives[a];
    const uint64_t count =
        alternative.all ? count_bits(matrix_.selectable(alternative.slot), matrix_.words()) : alternative.count;
    if (count < number) continue;
    least = std::min(least, count);
    most = std::max(most, count);
  }
  return most > 0;
}

// The devices that the request could still take, one bit each, added to pair_free_.
void Search::add_free(uint32_t r, const PairPlace& at, uint32_t fixed, uint32_t value) {
  const PlanRequest& request = plan_->requests[r];
  const size_t words = matrix_.words();
  for (uint32_t a = 0; a < request.alternatives.size(); ++a) {
    if (r < at.chosen && a != chosen_[r]) continue;
    const PlanAlternative& alternative = request.alternatives[a];
    pair_mask_.assign(pool_of_choice(alternative), pool_of_choice(alternative) + words);
    if (!alternative.admin)
      for (size_t w = 0; w < words; ++w) pair_mask_[w] &= ~assigned_[w];
    if (r + 1 == at.chosen && !alternative.all) {  // later devices only: combinations, not permutations
      for (size_t w = 0; w < words && w < at.from >> 6; ++w) pair_mask_[w] = 0;
      if (at.from >> 6 < words) pair_mask_[at.from >> 6] &= ~uint64_t{0} << (at.from & 63);
    }
    for (const uint32_t c : alternative.constraints) narrow_to(c, c == fixed ? value : kNoValue);
    for (size_t w = 0; w < words; ++w) pair_free_[w] |= pair_mask_[w];
  }
  pair_work_ += words * request.alternatives.size();
}

// Keeps in pair_mask_ the devices with a value that the match constraint still can have, or with `value`.
void Search::narrow_to(uint32_t constraint, uint32_t value) {
  const PlanConstraint& spec = plan_->constraints[constraint];
  const Column& column = *plan_columns_[spec.column];
  const MatchState& state = match_[constraint];
  if (spec.list != nullptr) {
    for (size_t w = 0; w < pair_mask_.size(); ++w) pair_mask_[w] &= value_match_[constraint].possible()[w];
    return;
  }
  if (spec.distinct || column.with.empty() || !spec.derived.empty()) return;
  if (value == kNoValue && state.members > 0 && state.values == 1) value = state.single;
  if (value != kNoValue) {
    for (size_t w = 0; w < pair_mask_.size(); ++w) pair_mask_[w] &= column.with[value][w];
    return;
  }
  if (state.members == 0) return;
  Words with(pair_mask_.size(), 0);
  for (const uint32_t v : state.many)
    for (size_t w = 0; w < with.size(); ++w) with[w] |= column.with[v][w];
  for (size_t w = 0; w < with.size(); ++w) pair_mask_[w] &= with[w];
}

// Whether a request of the term could have a share of the device beside those taken so far.
bool Search::has_share(const PlanPairTerm& term, const PairPlace& at, const inventory::Pool& pool, uint32_t device,
                       uint32_t local) {
  for (const uint32_t r : term.requests)
    for (uint32_t a = 0; a < plan_->requests[r].alternatives.size(); ++a) {
      if (r < at.chosen && a != chosen_[r]) continue;
      ++pair_work_;
      const PlanAlternative& alternative = plan_->requests[r].alternatives[a];
      const CapacityFit& fit = filters_.fit(filters_.get(alternative.filter), pool.shape(device));
      if (fit.fits && fits_shared(pool, device, local, fit)) return true;
    }
  return false;
}

bool Search::fill_pair_term(const PlanPairs& entry, const PlanPairTerm& term, const PairPlace& at, uint32_t fixed,
                            uint32_t value, size_t first_allocated, GroupTerm& out) {
  const Column& column = *plan_columns_[entry.column];
  out.clear();
  out.number = term.number;
  const auto take = [&](uint32_t local) {
    if (local == inventory::kNone || column.missing(local))
      ++out.taken_without_value;
    else
      add_value(column, local, kNoRival, out.taken);
  };
  if (term.allocated != nullptr) {
    for (size_t i = 0; i < term.allocated->size(); ++i) take(allocated_[first_allocated + i]);
    return out.taken.size() + out.taken_without_value >= term.number;
  }
  uint64_t most = 0;
  for (const uint32_t r : term.requests) {
    uint64_t least = 0, of_request = 0;
    if (!taken_by(r, at, entry.implied ? 1 : term.number, least, of_request)) return false;
    most += of_request;
    pair_least_ += least;
  }
  for (const Pick& pick : picks_)
    if (std::binary_search(term.requests.begin(), term.requests.end(), pick.request)) take(pick.local);
  const uint64_t taken = out.taken.size() + out.taken_without_value;
  out.more = most > taken ? most - taken : 0;
  if (out.more == 0) return true;
  pair_free_.assign(matrix_.words(), 0);
  bool admin = false;
  for (const uint32_t r : term.requests) {
    if (r + 1 < at.chosen) continue;  // has all its devices
    add_free(r, at, fixed, value);
    for (const PlanAlternative& one : plan_->requests[r].alternatives) admin = admin || one.admin;
  }
  for (size_t local = inventory::next_bit(pair_free_.data(), pair_free_.size(), 0); local != SIZE_MAX;
       local = inventory::next_bit(pair_free_.data(), pair_free_.size(), local + 1)) {
    const auto number = static_cast<uint32_t>(local);
    ++pair_work_;
    if (column.missing(number)) continue;
    const MatrixSegment& segment = matrix_.segment_of(number);
    const bool shareable = segment.pool->any_shareable() && segment.pool->shareable(matrix_.device_of(segment, number));
    if (shareable && !has_share(term, at, *segment.pool, matrix_.device_of(segment, number), number)) continue;
    // Several requests of one term can each have a share.
    const size_t times = shareable ? term.requests.size() : 1;
    for (size_t i = 0; i < times; ++i) add_value(column, number, shareable || admin ? kNoRival : number, out.free);
  }
  return true;
}

// Whether the entry's groups are possible below this state, where match constraint `fixed` has `value`.
bool Search::pair_possible(const PlanPairs& entry, const PairPlace& at, uint32_t fixed, uint32_t value, uint64_t limit,
                           bool* unknown) {
  if (pair_terms_.size() < entry.terms.size()) pair_terms_.resize(entry.terms.size());
  uint64_t groups = UINT64_MAX;
  size_t first_allocated = 0;
  for (const PlanPairs& before : plan_->pairs) {
    if (&before == &entry) break;
    for (const PlanPairTerm& term : before.terms)
      first_allocated += term.allocated == nullptr ? 0 : term.allocated->size();
  }
  for (size_t t = 0; t < entry.terms.size(); ++t) {
    const PlanPairTerm& term = entry.terms[t];
    pair_least_ = 0;
    if (!fill_pair_term(entry, term, at, fixed, value, first_allocated, pair_terms_[t])) return false;
    if (term.allocated != nullptr) {
      first_allocated += term.allocated->size();
      pair_least_ = term.allocated->size();
    }
    groups = std::min(groups, pair_least_ / term.number);
  }
  pair_groups_ = groups;
  const uint64_t before = group_counter_.work();
  const GroupCounter::Answer answer =
      group_counter_.can_form(std::span(pair_terms_).first(entry.terms.size()), groups, limit);
  pair_work_ += group_counter_.work() - before;
  if (unknown != nullptr) *unknown = answer == GroupCounter::Answer::kUnknown;
  return answer != GroupCounter::Answer::kNo;
}

bool Search::touches(const PlanConstraint& spec, const PlanPairs& entry) const {
  for (const PlanPairTerm& term : entry.terms)
    for (const uint32_t r : term.requests)
      if (std::binary_search(spec.requests.begin(), spec.requests.end(), r)) return true;
  return false;
}

// True if there is no solution below this state.
bool Search::cannot_pair(const PairPlace& at) {
  bool impossible = false;
  for (const PlanPairs& entry : plan_->pairs) {
    if (entry.implied && !bounds_constraints_) break;
    if (pair_work_ > kStateWork) break;
    impossible = !pair_possible(entry, at, UINT32_MAX, kNoValue, kBoundWork, nullptr);
    if (impossible) refuted_pairs_ = &entry;
    for (uint32_t c = 0; c < plan_->constraints.size() && !impossible; ++c) {
      const PlanConstraint& spec = plan_->constraints[c];
      const MatchState& state = match_[c];
      const Column& column = *plan_columns_[spec.column];
      const bool open = state.members == 0 || state.values > 1;
      const uint32_t values = state.members == 0 ? column.values : state.values;
      if (spec.distinct || spec.list != nullptr || !spec.derived.empty() || !open || values > kMostValues ||
          column.with.empty() || !touches(spec, entry))
        continue;
      // A constraint of an implied entry is one of its groups.
      if (entry.implied && spec.column == entry.column) continue;
      bool any = false;
      for (uint32_t i = 0; i < values && !any; ++i)
        any = pair_work_ > kStateWork ||
              pair_possible(entry, at, c, state.members == 0 ? i : state.many[i], kBoundWork, nullptr);
      impossible = !any;
      if (impossible) refuted_pairs_ = &entry;
    }
    if (impossible) break;
  }
  steps_ += pair_work_ / kPairWorkPerStep;
  pair_work_ %= kPairWorkPerStep;
  return impossible;
}

// False if refuted.
bool Search::prove_pairs() {
  if (!cannot_pair({})) return true;
  refute("pairs (" + refuted_pairs_->text + "): the candidates cannot form " + std::to_string(pair_groups_) +
         (pair_groups_ == 1 ? " group" : " groups"));
  return false;
}

// Called in the middle of a search, of which it must know nothing. False if refuted.
bool Search::prove_implied_pairs() {
  if (plan_->pairs.empty() || !plan_->pairs.back().implied) return true;
  bounds_pairs_ = bounds_constraints_ = true;
  std::vector<Pick> picks;
  Words assigned(assigned_.size(), 0);
  std::vector<MatchState> match(match_.size());
  picks_.swap(picks);
  assigned_.swap(assigned);
  match_.swap(match);
  const bool possible = prove_pairs();
  picks_.swap(picks);
  assigned_.swap(assigned);
  match_.swap(match);
  return possible;
}

// Whether the picks, which serve all requests, form the groups of every entry.
bool Search::pairs_hold() {
  const PairPlace end{static_cast<uint32_t>(plan_->requests.size()) + 1, 0};
  bool hold = true;
  for (const PlanPairs& entry : plan_->pairs) {
    if (entry.implied) break;
    bool unknown = false;
    const uint64_t left = kDecisionWork - std::min(pair_work_, kDecisionWork);
    hold = pair_possible(entry, end, UINT32_MAX, kNoValue, left, &unknown);
    if (unknown) {
      out_of_budget_ = true;  // never a guess
      hold = false;
    }
    if (!hold) break;
  }
  steps_ += pair_work_ / kPairWorkPerStep;
  pair_work_ %= kPairWorkPerStep;
  return hold;
}

}  // namespace dra::allocator
