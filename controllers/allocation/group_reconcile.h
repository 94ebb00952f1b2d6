// GroupReconcile: one run of the allocation controller for the pods of a group that wait together. Where the group
// stands is derived from the objects; nothing is kept for the run after it (docs/design/groups-commit.md).
//
//   open       no claim bears a mark that was made for a member
//     decide     nodes and devices for min_count members in one search: the allocations, unmarked, or nothing at all
//     commit     min_count members are allocated, the stream has them, nothing is over-committed: all marks at once
//   committed  one bears it: the group only goes forward
//     forward    members that lost their place are decided anew, unmarked ones are marked
//     go         min_count members are marked: their gates or bindings, back to back
//   launched   a member was let go: the others are reconciled pod by pod, as those of no group
//
// What is held while the group is open is given back together: when it cannot be completed, when it stands in the way
// of somebody else, and after the hold timeout.
#pragma once

#include <deque>
#include <map>
#include <string>
#include <vector>

#include "controllers/allocation/group_members.h"
#include "controllers/allocation/group_nodes.h"
#include "controllers/allocation/pod_reconcile.h"

namespace dra::allocation {

// What the pass for this pod does for its group. `membership` is kMember or kWaits.
reconcile::Outcome reconcile_member(const reconcile::View& view, const api::Pod& pod, Role role, const Tools& tools,
                                    const reconcile::Membership& membership);

class GroupReconcile {
 public:
  // Of a group that is not launched and has a member that waits; the first one is reconciled for all.
  GroupReconcile(const reconcile::View& view, const Tools& tools, GroupMembers members);

  reconcile::Outcome run();

 private:
  using Conflicts = std::vector<inventory::AuditFinding>;
  struct Member {
    PodReconcile* steps;
    bool ready = false;    // its claims exist
    bool held = false;     // and are allocated
    bool settled = false;  // and proven, or not ours to prove
    bool marked = false;   // one was proven for this pod
    bool pinned = false;   // it has devices of one node
    bool placed = false;   // held, and its node is known or kube-scheduler's to find
  };

  // Claims that members leave (P8) or have no use for, as for single pods. True while there are some.
  bool step_back();
  void judge();
  size_t count(bool Member::*what) const;

  void wait_for_members();
  Duration since_last_member() const;
  // One search for the members that are not placed yet; `needed` of them, or none.
  void decide(uint32_t needed);
  void say_ignored(const gang::Decision& decision);
  void write_decision(const std::vector<Member*>& asked, const gang::Decision& decision);
  void not_found(const gang::Decision& decision, const std::vector<Member*>& asked, GroupNodes& nodes);
  // kept_nodes.cc: zero: it waits for so long that nodes are kept for it.
  Duration until_starving() const;
  int64_t lowest_priority() const;
  size_t keep_nodes(const std::vector<Member*>& asked, GroupNodes& nodes);
  void commit();
  void forward();
  void go();
  // No way forward for members of a committed group: once the timeout is over, gated pods leave (P8), and those that
  // are to be bound go without the others.
  void stuck();

  Conflicts conflicts() const;
  // The conflict is with other groups that rank behind this one, and hold nothing proven.
  bool others_give_way(const Conflicts& conflicts) const;
  void yield_to(const Conflicts& conflicts);
  // Gives back all that is unmarked, in one order whoever does it; false: there is nothing.
  bool withdraw();
  bool holds_something() const;
  // Since the first allocation that is not marked, or (`newest`) since the last one at all.
  Duration held_for(bool newest) const;
  bool timed_out() const { return held_for(false) >= members_.hold_timeout; }
  // A pass that wrote nothing ends: it comes back when the holds have to go, or takes them back.
  void watch_holds();

  // Every member waits for the same: the event is the first pod's, the condition each one's.
  void say(const std::string& sentence);
  void park(const std::vector<Member*>& asked);
  reconcile::Outcome merged();

  const reconcile::View& view_;
  const Tools& tools_;
  const GroupMembers members_;
  std::deque<PodReconcile> steps_;
  std::vector<Member> pods_;
  PodReconcile* first_ = nullptr;
  bool committed_ = false;
};

}  // namespace dra::allocation
