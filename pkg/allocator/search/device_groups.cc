// Search: compatibility groups (pkg/inventory/compatibility.h): the devices of a decision beside those in use.
#include <algorithm>

#include "pkg/allocator/search/search.h"

namespace dra::allocator {

using inventory::Groups;
using inventory::GroupState;
using inventory::Hash128;
using inventory::StrId;

const GroupState* Search::groups_on(const MatrixSegment& segment, StrId set) const {
  for (const GroupsOfSet& one : group_states_)
    if (one.segment == segment.first_word && one.set == set) return &one.state;
  return nullptr;
}

bool Search::fits_groups(const MatrixSegment& segment, uint32_t device) const {
  bool fits = true;
  segment.pool->for_each_set(device, [&](StrId set, const Groups& groups) {
    const GroupState* ours = groups_on(segment, set);
    fits = fits && (ours != nullptr ? *ours : segment.pool->groups_in_use(set)).admits(groups);
  });
  return fits;
}

void Search::charge_groups(const MatrixSegment& segment, uint32_t device) {
  segment.pool->for_each_set(device, [&](StrId set, const Groups& groups) {
    const GroupState* ours = groups_on(segment, set);
    size_t at = group_states_.size();
    for (size_t i = 0; i < group_states_.size(); ++i)
      if (&group_states_[i].state == ours) at = i;
    if (at == group_states_.size())
      group_states_.push_back({segment.first_word, set, segment.pool->groups_in_use(set)});
    saved_groups_.emplace_back(at, group_states_[at].state);
    group_states_[at].state.add(groups);
  });
}

// The device is the last one that was charged.
void Search::release_groups(const MatrixSegment& segment, uint32_t device) {
  segment.pool->for_each_set(device, [&](StrId, const Groups&) {
    group_states_[saved_groups_.back().first].state = std::move(saved_groups_.back().second);
    saved_groups_.pop_back();
  });
}

// Devices are interchangeable only if they have the same groups on the same sets.
void Search::append_groups(const MatrixSegment& segment, uint32_t device, std::string& key) const {
  const auto add = [&key](uint32_t v) { key.append(reinterpret_cast<const char*>(&v), sizeof v); };
  segment.pool->for_each_set(device, [&](StrId set, const Groups& groups) {
    add(set);
    add(static_cast<uint32_t>(groups.size()));
    for (const StrId group : groups) add(group);
  });
}

// What the devices of this decision leave of the groups. A set that they left as it was says nothing.
void Search::add_groups(Hash128& state) const {
  uint64_t sum_a = 0, sum_b = 0;
  for (const GroupsOfSet& one : group_states_) {
    const inventory::Pool& pool = *matrix_.segment_of(one.segment * 64).pool;
    if (one.state == pool.groups_in_use(one.set)) continue;
    Hash128 mix;
    mix.add(uint64_t{one.segment} << 32 | one.set);
    mix.add(uint64_t{one.state.grouped} << 1 | uint64_t{one.state.users > 0});
    for (const StrId group : one.state.common) mix.add(uint64_t{group});
    sum_a += mix.a;
    sum_b += mix.b;
  }
  state.add(sum_a);
  state.add(sum_b);
}

}  // namespace dra::allocator
