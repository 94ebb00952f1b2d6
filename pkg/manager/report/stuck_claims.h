// StuckClaims: claims that have been in a transient state for longer than kStuckAfter, by state:
//   pending   not allocated although a living pod needs it
//   unproven  allocated by us and not proven (docs/design/arbitration.md, P2 and P3)
//   deleting  deleted and still there
// Kept up to date with changes; counting reads only claims that have been in such a state that long.
//
// Not thread-safe: belongs to the reactor's thread.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>

#include "pkg/api/resource.h"
#include "pkg/base/clock.h"
#include "pkg/base/timestamp.h"

namespace dra::manager {

class StuckClaims {
 public:
  static constexpr Duration kStuckAfter = std::chrono::minutes(5);
  static constexpr std::array<const char*, 3> kStates{"pending", "unproven", "deleting"};

  // Call after each change of a claim; before is null for a new claim, after for one that is gone.
  void changed(const api::ResourceClaim* before, const api::ResourceClaim* after, WallTime now);
  // The counts now, in the order of kStates. `needed` returns whether a living pod needs the claim of this store key.
  std::array<size_t, 3> count(WallTime now, const std::function<bool(const std::string&)>& needed) const;

 private:
  struct Entry {
    size_t state;
    Timestamp since;
  };
  void forget(const std::string& key);

  std::unordered_map<std::string, Entry> entries_;  // by store key
  std::array<std::set<std::pair<Timestamp, std::string>>, 3> by_time_;
};

}  // namespace dra::manager
