// GroupLeaders: the waiting pod that is reconciled for its group (leader_of() of group_members.h), without visiting the
// whole group at each event of one of its pods: the last answer stays right while that pod waits and no older one
// comes.
//
// A group beyond kMaxGroupMembers is not placed together and has no leader.
// It also remembers that no pod of a group is launched, so that the pods that wait with the leader do not each visit
// all others.
// Right only if it is asked about every pod of a group that begins to wait, and is notified of every change of a pod
// or of its claims (changed()). Bounded: beyond kMost groups all are forgotten, and each is visited once more. Not
// thread-safe.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

#include "pkg/api/core.h"
#include "pkg/reconcile/view.h"

namespace dra::allocation {

struct Options;

class GroupLeaders {
 public:
  static constexpr size_t kMost = 4096;

  // Null: none waits. `changed`: a pod of the group that may have begun to wait; null: none did.
  const api::Pod* leader_of(const reconcile::View& view, const std::string& group, const api::Pod* changed,
                            const Options& options);

  // Some pod of the group was ungated or bound, and has not failed (is_launched() of group_members.h).
  bool has_launched(const reconcile::View& view, const std::string& group, const Options& options);
  // True when the pod is the first of its group that is known to have launched, after has_launched() was false.
  bool changed(const reconcile::View& view, const api::Pod& pod, const Options& options);
  void forget_all();

 private:
  struct Known {
    std::string pod;  // store key
    std::string uid;
  };
  std::map<std::string, Known, std::less<>> known_;   // by the group's key
  std::set<std::string, std::less<>> none_launched_;  // keys of groups
};

}  // namespace dra::allocation
