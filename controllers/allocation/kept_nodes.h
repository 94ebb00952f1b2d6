// KeptNodes: nodes that are kept for groups which have waited for too long (--gang-starvation-after).
//
// A smaller pod may pass a group that waits. But small pods that come and go could take what each of them leaves
// behind, and the group would never see enough at once. So from then on pods of the group's priority or a lower one
// are not decided onto the nodes that it needs; who is there already stays. The nodes are those of one domain, and no
// more of them than would hold the group if they were empty.
//
// Kept in memory: after a restart the group's next reconcile makes it anew. It counts only while the group's first pod
// waits as it did, and for kForget after that pod's last reconcile; at most kMost groups have one. Priorities are the
// server's, so no tenant crosses them. Not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "controllers/allocation/group_rank.h"
#include "pkg/api/core.h"
#include "pkg/base/clock.h"
#include "pkg/reconcile/view.h"

namespace dra::allocation {

struct Options;

class KeptNodes {
 public:
  static constexpr size_t kMost = 16;
  static constexpr Duration kForget = std::chrono::minutes(12);

  struct One {
    GroupRank rank;
    int64_t priority = 0;  // the lowest of its members
    std::string shown;     // for people
    std::string pod, pod_uid;
    std::set<std::string, std::less<>> nodes;
    WallTime since{};
  };

  // Where there is no place left for one more, the group that ranks last goes without.
  void keep(const std::string& group, One one);
  void drop(const std::string& group) { kept_.erase(group); }
  bool empty() const { return kept_.empty(); }
  // For whom the node is kept from this pod; null: it may go there. `group` is the key of the pod's own, or empty.
  const One* keeps(std::string_view node, const api::Pod& pod, const std::string& group) const;
  // Forgets what does not count any more.
  void tidy(const reconcile::View& view, const Options& options);

 private:
  std::map<std::string, One> kept_;  // by group
};

}  // namespace dra::allocation
