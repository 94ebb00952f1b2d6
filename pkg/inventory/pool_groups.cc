// The compatibility groups of a pool: what the devices in use on a counter set have in common (compatibility.h).
#include "pkg/inventory/pool.h"

namespace dra::inventory {

const Groups& Pool::groups_of(const SliceTable& slice, uint32_t local, StrId set) {
  static const Groups none;
  const auto found = slice.groups.find({local, set});
  return found == slice.groups.end() ? none : found->second;
}

const GroupState& Pool::groups_in_use(StrId set) const {
  static const GroupState unused;
  const auto found = sets_.find(set);
  return found == sets_.end() ? unused : found->second.in_use;
}

bool Pool::groups_fit(uint32_t device) const {
  bool fit = true;
  for_each_set(device, [&](StrId set, const Groups& groups) { fit = fit && groups_in_use(set).admits(groups); });
  return fit;
}

GroupState Pool::add_up_groups(StrId set_name, const CounterSet& set) const {
  GroupState sum;
  for (const DeviceRef user : set.users)
    if (test_bit(charged_.data(), number_of(user)))
      sum.add(groups_of(*slots_[slot_in(user)]->table, local_in(user), set_name));
  return sum;
}

// The first slice with groups came, or the last one went: until now nobody kept what is in use.
void Pool::refresh_all_groups() {
  for (auto& [set_name, set] : sets_) {
    set.in_use = any_groups() ? add_up_groups(set_name, set) : GroupState{};
    for (const DeviceRef user : set.users) refresh_available(number_of(user));
  }
}

}  // namespace dra::inventory
