// Search: proofs that there is no solution, attempted before much is tried.
//
//  - values: a match constraint needs one value that every request in it can get often enough (all values of a list
//  count);
//  - numbers (Hall's condition): requests whose candidates all lie in one set cannot take more than that set can
//    provide, where counters and shared capacities limit what it provides;
//  - a distinct constraint cannot have more members than there are values;
//  - match constraints of one form: as many groups as constraints (pairs.cc);
//  - packing: counters and numbers of devices together (packing.h).
// The sets considered are the requests' own candidate sets and their union, so the proofs are sound but not complete.
#include <algorithm>
#include <map>

#include "pkg/allocator/search/search.h"
#include "pkg/base/strings.h"

namespace dra::allocator {

using inventory::Amount;
using inventory::count_bits;
using inventory::CounterUse;
using inventory::Pool;
using inventory::Words;

namespace {

bool inside(const Words& small, const Words& large) {
  for (size_t w = 0; w < small.size(); ++w)
    if (small[w] & ~large[w]) return false;
  return true;
}

}  // namespace

void Search::refute(std::string proof) {
  if (refuted_) return;
  refuted_ = true;
  proof_ = std::move(proof);
}

void Search::set_up_proofs() {
  if (prove_constraints() && prove_counts() && prove_implied_pairs()) prove_packing();
}

// False if refuted.
bool Search::prove_packing() {
  packs_ = packing_.set_up(*plan_, matrix_);
  if (!packs_) return true;
  const Words nothing_assigned(assigned_.size(), 0);
  const std::vector<Amount> nothing_charged(charged_.size(), 0);
  const bool possible = packing_.possible({}, nothing_assigned, nothing_charged);
  steps_ += packing_.work();
  if (!possible) refute("each request alone has candidates, but together they want more than the counters have left");
  return possible;
}

bool Search::cannot_pack(uint32_t r, const PlanAlternative& alternative, uint32_t placed) {
  if (!packs_) return false;
  const uint64_t before = packing_.work();
  const bool possible = packing_.possible({r + 1, &alternative, alternative.count - placed}, assigned_, charged_);
  steps_ += packing_.work() - before;
  return !possible;
}

// False if refuted.
bool Search::prove_constraints() {
  for (const PlanConstraint& spec : plan_->constraints) {
    auto number = static_cast<uint32_t>(&spec - plan_->constraints.data());
    const Column& column = *plan_columns_[spec.column];
    if (column.with.empty() || spec.list != nullptr) continue;
    // The requests that are members whatever alternative is chosen.
    std::vector<uint32_t> members;
    uint64_t wanted = 0;
    for (uint32_t r : spec.requests) {
      bool always = true;
      uint64_t least = UINT64_MAX;
      for (const PlanAlternative& alternative : plan_->requests[r].alternatives) {
        always = always && std::find(alternative.constraints.begin(), alternative.constraints.end(), number) !=
                               alternative.constraints.end();
        least = std::min<uint64_t>(least, alternative.all ? 1 : alternative.count);
      }
      if (!always) continue;
      members.push_back(r);
      wanted += least;
    }
    auto enough = [&](uint32_t r, uint32_t value) {
      for (const PlanAlternative& alternative : plan_->requests[r].alternatives) {
        const uint64_t* candidates = pool_of_choice(alternative);
        size_t count = 0;
        for (size_t w = 0; w < matrix_.words(); ++w)
          count += static_cast<size_t>(std::popcount(candidates[w] & column.with[value][w]));
        if (count >= (alternative.all ? 1 : alternative.count)) return true;
      }
      return false;
    };
    if (spec.distinct) {
      uint64_t values = 0;
      for (uint32_t v = 0; v < column.values; ++v) {
        bool had = false;
        for (size_t i = 0; i < members.size() && !had; ++i)
          for (const PlanAlternative& alternative : plan_->requests[members[i]].alternatives) {
            const uint64_t* candidates = pool_of_choice(alternative);
            for (size_t w = 0; w < matrix_.words(); ++w) had = had || (candidates[w] & column.with[v][w]) != 0;
          }
        values += had;
      }
      if (wanted > values) {
        refute("distinctAttribute " + quote(spec.attribute) + ": " + std::to_string(wanted) +
               " devices wanted, but only " + std::to_string(values) + " values among the candidates");
        return false;
      }
      continue;
    }
    bool any = members.empty();
    for (uint32_t v = 0; v < column.values && !any; ++v)
      any = std::all_of(members.begin(), members.end(), [&](uint32_t r) { return enough(r, v); });
    if (!any) {
      refute("matchAttribute " + quote(spec.attribute) + ": no value is common to enough candidates");
      return false;
    }
  }
  return true;
}

bool Search::prove_counts() {
  std::vector<Words> sets;
  std::vector<uint64_t> wanted;
  std::vector<std::vector<uint32_t>> members;
  for (uint32_t r = 0; r < plan_->requests.size(); ++r) {
    Words set(matrix_.words(), 0);
    uint64_t least = UINT64_MAX;
    bool admin = false;
    for (const PlanAlternative& alternative : plan_->requests[r].alternatives) {
      const uint64_t* candidates = pool_of_choice(alternative);
      for (size_t w = 0; w < set.size(); ++w) set[w] |= candidates[w];
      least = std::min<uint64_t>(least, alternative.all ? 1 : alternative.count);
      admin = admin || alternative.admin;
    }
    if (admin) continue;
    auto same = std::find(sets.begin(), sets.end(), set);
    auto at = static_cast<size_t>(same - sets.begin());
    if (same == sets.end()) {
      sets.push_back(std::move(set));
      wanted.push_back(0);
      members.emplace_back();
    }
    wanted[at] += least;
    members[at].push_back(r);
  }
  size_t distinct = sets.size();
  if (distinct > 1) {
    Words all(matrix_.words(), 0);
    for (size_t i = 0; i < distinct; ++i)
      for (size_t w = 0; w < all.size(); ++w) all[w] |= sets[i][w];
    sets.push_back(std::move(all));
  }
  for (const Words& set : sets) {
    uint64_t want = 0;
    std::vector<uint32_t> requests;
    for (size_t i = 0; i < distinct; ++i) {
      if (!inside(sets[i], set)) continue;
      want += wanted[i];
      requests.insert(requests.end(), members[i].begin(), members[i].end());
    }
    uint64_t most = most_devices(set, requests);
    if (want <= most) continue;
    refute(std::to_string(want) + " devices wanted of " + std::to_string(count_bits(set.data(), set.size())) +
           " candidates, of which at most " + std::to_string(most) + " can be had together");
    return false;
  }
  return true;
}

// An upper bound on how many picks these requests can make among the devices of `mask`.
uint64_t Search::most_devices(const Words& mask, const std::vector<uint32_t>& requests) const {
  struct Group {  // devices whose first counter is in one counter set
    uint64_t devices = 0;
    std::map<uint32_t, std::pair<uint64_t, Amount>> counters;  // counter -> users, least amount
  };
  std::map<std::pair<uint32_t, inventory::StrId>, Group> groups;
  uint64_t most = 0;
  for (size_t local = inventory::next_bit(mask.data(), mask.size(), 0); local != SIZE_MAX;
       local = inventory::next_bit(mask.data(), mask.size(), local + 1)) {
    const MatrixSegment& segment = matrix_.segment_of(static_cast<uint32_t>(local));
    const Pool& pool = *segment.pool;
    uint32_t device = matrix_.device_of(segment, static_cast<uint32_t>(local));
    if (pool.shareable(device)) {
      // A request takes a device at most once; the smallest requested amount bounds the number of shares.
      const inventory::CapacityShape& shape = pool.shape(device);
      const std::vector<Amount>* held = pool.shared(device);
      uint64_t shares = requests.size();
      for (size_t i = 0; i < shape.entries.size(); ++i) {
        Amount least = -1;
        for (uint32_t r : requests)
          for (const PlanAlternative& alternative : plan_->requests[r].alternatives) {
            const CapacityFit& fit = filters_.fit(filters_.get(alternative.filter), shape);
            if (fit.fits && (least < 0 || fit.amounts[i] < least)) least = fit.amounts[i];
          }
        Amount left = shape.entries[i].amount - (held != nullptr ? (*held)[i] : 0);
        if (left < 0) shares = 0;
        if (least > 0 && left >= 0 && left / least < static_cast<Amount>(shares))
          shares = static_cast<uint64_t>(left / least);
      }
      most += shares;
      continue;
    }
    const CounterUse* use = pool.uses_begin(device);
    if (use == pool.uses_end(device)) {
      ++most;
      continue;
    }
    Group& group = groups[{segment.first_word, pool.counters()[use->counter].set}];
    ++group.devices;
    for (; use != pool.uses_end(device); ++use) {
      auto [it, fresh] = group.counters.try_emplace(use->counter, 0, use->amount);
      ++it->second.first;
      it->second.second = std::min(it->second.second, use->amount);
    }
  }
  for (const auto& [key, group] : groups) {
    uint64_t bound = group.devices;
    const Pool& pool = *matrix_.segment_of(key.first * 64).pool;
    for (const auto& [counter, users] : group.counters) {
      if (users.first != group.devices || users.second <= 0) continue;
      Amount left = pool.counters()[counter].total - pool.counters()[counter].consumed;
      Amount fit = left < 0 ? 0 : left / users.second;
      if (fit < static_cast<Amount>(bound)) bound = static_cast<uint64_t>(fit);
    }
    most += bound;
  }
  return most;
}

}  // namespace dra::allocator
