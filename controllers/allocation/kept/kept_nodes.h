// KeptNodes: nodes that are kept for groups that have waited too long (--gang-starvation-after).
//
// A smaller pod may overtake a waiting group. But small pods that come and go could take what each of them frees, and
// the group would never find enough at once. So, once a group has waited too long, pods of its priority or below are
// not placed on the nodes that it needs; pods already there stay. The nodes are in one domain, and no more than would
// fit the group if they were empty.
//
// Kept in memory: after a restart the group's next reconcile restores it. An entry counts only while the group's first
// pod waits as before, and for kForget after it was last renewed; at most kMost groups have one. Priorities come from
// the API server, so no tenant can cross them.
//
// So that a tenant's groups that never end cannot keep the cluster: each namespace has one entry before any has a
// second, further entries of a namespace count only as far as all of it together has half of the nodes, and after
// kLongest a group keeps nothing for kRest. Not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "controllers/allocation/members/group_rank.h"
#include "pkg/api/core.h"
#include "pkg/base/clock.h"
#include "pkg/reconcile/view.h"

namespace dra::allocation {

struct Options;

class KeptNodes {
 public:
  static constexpr size_t kMost = 16;
  static constexpr Duration kForget = std::chrono::minutes(12);
  static constexpr Duration kLongest = std::chrono::hours(1);
  static constexpr Duration kRest = std::chrono::minutes(15);

  struct One {
    GroupRank rank;
    int64_t priority = 0;  // the lowest of its members
    std::string shown;     // in messages
    std::string ns;
    std::string pod, pod_uid;
    std::set<std::string, std::less<>> nodes;  // none: the group rests
    WallTime since{};                          // renewed last
    WallTime began{};                          // set by keep()
  };

  // Keeps the nodes of `one` from one.since on, of `all_nodes` in the cluster. False: not, for now. If there are too
  // many entries, that namespace loses one which has most of them: the one that ranks last.
  bool keep(const std::string& group, One one, size_t all_nodes);
  void drop(const std::string& group) { kept_.erase(group); }
  bool empty() const { return kept_.empty(); }
  // The group for which the node is kept from this pod; null: it may go there. `group`: the pod's own, or empty.
  const One* keeps(std::string_view node, const api::Pod& pod, const std::string& group) const;
  // Forgets entries that no longer count, and ends those that lasted long enough.
  void tidy(const reconcile::View& view, const Options& options);

 private:
  std::map<std::string, One> kept_;  // by group
};

}  // namespace dra::allocation
