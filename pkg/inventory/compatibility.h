// Compatibility groups (KEP-5963): which devices may be in use together on one counter set.
//
// Devices that draw on a set declare groups for it, or none. All devices in use on the set must have one group in
// common, or none may have any. So it is enough to keep the groups that all of them have: a candidate is admitted if
// the set is unused, if neither side has groups, or if one of the candidate's groups is among those. Groups are read
// from the slice, also those of devices in use; results do not have them.
#pragma once

#include <algorithm>
#include <iterator>
#include <vector>

#include "pkg/inventory/strings.h"

namespace dra::inventory {

// Sorted, without repetitions.
using Groups = std::vector<StrId>;

struct GroupState {
  uint32_t users = 0;
  bool grouped = false;  // a user has groups
  Groups common;         // the groups that all users have

  bool admits(const Groups& candidate) const {
    if (users == 0 || (!grouped && candidate.empty())) return true;
    return std::any_of(candidate.begin(), candidate.end(),
                       [this](StrId group) { return std::binary_search(common.begin(), common.end(), group); });
  }

  void add(const Groups& user) {
    grouped = grouped || !user.empty();
    if (users++ == 0) {
      common = user;
      return;
    }
    Groups left;
    std::set_intersection(common.begin(), common.end(), user.begin(), user.end(), std::back_inserter(left));
    common = std::move(left);
  }

  bool operator==(const GroupState&) const = default;
};

}  // namespace dra::inventory
