// The total order of groups: of two groups that overlap, the one with the lower rank keeps its devices. Higher priority
// first, then the older (creationTimestamp is in seconds), then the uid (docs/design/groups-commit.md).
#pragma once

#include <compare>
#include <cstdint>
#include <string>

namespace dra::allocation {

struct GroupRank {
  int64_t priority = 0;  // negated
  std::string since;     // creationTimestamp of the first member
  std::string uid;       // of it
  auto operator<=>(const GroupRank&) const = default;
};

}  // namespace dra::allocation
