// GroupReconcile: one reconcile, by the allocation controller, of the waiting pods of a group. It derives the group's
// state from the objects (docs/design/groups-commit.md). Only an unfinished search keeps something for the next
// reconcile: its progress (pkg/gang), and the facts about the members while nothing changes (kept_members.h). The steps
// are those of single pods (pod/), taken for each member with a context and an outcome of its own; at the end all
// outcomes become one.
//
//   open       no claim bears a mark that was made for a member
//     decide     one search for nodes and devices of min_count members: writes all allocations, unmarked, or none
//     commit     min_count members are allocated, the stream has them, nothing is over-committed: all marks at once
//   committed  a claim bears such a mark: the group only goes forward
//     forward    decides again for members that lost their place, and marks unmarked ones
//     go         min_count members are marked: their gates or bindings, back to back
//   launched   a member was ungated or bound: the others are reconciled one by one, like pods of no group
//
// The unmarked allocations of an open group are withdrawn together: when the group cannot be completed, when it gives
// way to somebody else, and after the hold timeout.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "controllers/allocation/kept/kept_members.h"
#include "controllers/allocation/members/group_hints.h"
#include "controllers/allocation/members/group_members.h"
#include "controllers/allocation/pod/condition.h"
#include "controllers/allocation/pod/conflicts.h"
#include "controllers/allocation/pod/context.h"
#include "controllers/allocation/pod/group_nodes.h"
#include "controllers/allocation/pod/obstacles.h"
#include "pkg/protocol/rails.h"

namespace dra::allocation {

// Of a group with more members than this, each event would cost a visit of all of them.
inline constexpr size_t kManyMembers = 64;

class GroupReconcile {
 public:
  // The group is not launched and has a waiting member; the first one is reconciled for all.
  // `spent`: the time that this reconcile has taken, which its slice of a search is shorter by.
  GroupReconcile(const reconcile::View& view, const Tools& tools, std::shared_ptr<MemberFacts> made, Duration spent);

  GroupReconcile(const GroupReconcile&) = delete;  // its contexts refer to it
  GroupReconcile& operator=(const GroupReconcile&) = delete;

  reconcile::ReconcileResult run();

 private:
  struct Member {
    explicit Member(const PodContext& of) : context(of) {}

    PodContext context;
    reconcile::ReconcileResult out;
    Obstacles obstacles;   // of the last choice of its nodes
    bool ready = false;    // its claims exist
    bool held = false;     // and are allocated
    bool settled = false;  // and proven, or not ours to prove
    bool marked = false;   // one was proven for this pod
    bool pinned = false;   // it has devices of only one node
    bool placed = false;   // held, and its node is known, or kube-scheduler's to find
    bool lifting = false;  // its gate is lifted, or it is bound
    uint32_t part = 0;     // of members_.whole
  };

  std::vector<Member> members_with_contexts();
  // Members leave claims that they announced to leave (P8) or cannot use, as single pods do. True while there are some.
  bool step_back();
  void judge();
  size_t count(bool Member::*what) const;

  // The following are of the group, or in parts.cc of the groups that it consists of.
  // The members of which this is true are min_count, or enough of the groups.
  bool enough(bool Member::*what) const;
  // By part of members_.whole: how many of its own members.
  std::vector<uint32_t> count_by_part(bool Member::*what) const;
  // True: members of groups that are not complete gave back what they hold, so that none is placed without the others.
  bool withdraw_incomplete();
  void add_parts(gang::GangRequest& request, const std::vector<size_t>& asked, uint32_t needed) const;
  // A group below another requires a domain, and has a pod without claims. A clause; empty: none.
  std::string why_no_inner_domain() const;
  // "2 of 3 groups are ready; group ml/w1 has 1 of 4 members".
  std::string how_many_are(bool Member::*what, const char* word) const;
  std::vector<Member*> strays_of_parts();

  void wait_for_members();
  Duration since_last_member() const;
  // Lets the events of a large group gather.
  void pause();
  // One search for the members that are not placed yet: places `needed` of them, or none.
  void decide(uint32_t needed);
  // False: the annotations for pairs (or rails) of some member are refused, and all wait.
  bool pairs_are_read();
  bool rails_are_read(const protocol::PodRails& rails);
  // Before the marks: the pairs of every member, by what is published now. False: as of rails_hold().
  bool held_pairs_hold();
  // G9, before the marks. False: the members wait, or all that is unmarked is withdrawn.
  bool rails_hold();
  // What is asked of the search for these members; afterwards they go back to `made_`, for the next slice.
  std::vector<gang::Member> questions_about(const std::vector<size_t>& asked);
  void say_ignored(const gang::Decision& decision);
  void write_decision(const std::vector<Member*>& asked, gang::Decision& decision);
  // `refused`: the claims themselves are at fault.
  std::string why_not_alone(Member& member, bool* refused);
  struct Searched {
    const gang::Decision& decision;
    const std::vector<Member*>& asked;
    GroupNodes& nodes;
    std::string kept_devices;  // kept_devices_clause() of what the search left to others
  };
  void not_found(const Searched& search);
  // keep_nodes.cc. Zero: the group has waited so long that nodes are kept for it.
  Duration until_starving() const;
  int64_t lowest_priority() const;
  size_t keep_nodes(const std::vector<Member*>& asked, GroupNodes& nodes);
  void commit();
  void forward();
  void go();
  // Members of a committed group cannot go forward: after a while all leave (P8, G7).
  void stuck();
  // Until all leave.
  Duration patience() const;
  bool leave_all();
  // Some settled member fits on no node, so it is not a matter of waiting.
  bool has_homeless();

  // group_domain.cc
  std::vector<std::string> nodes_of_pinned() const;
  // The members whose nodes are not in the domain of the required level that most are in.
  std::vector<Member*> strays();
  // G8: they leave, or (an open group) all do. True when there are some.
  bool leave_other_domains();
  // Members that are ours to bind, without devices of one node, are bound in the required domain of the others, or of
  // `nodes`, which the search found.
  void find_homes(std::vector<std::string> nodes);
  // There are only such members, and no search of this reconcile has found a domain for them.
  bool lacks_homes() const;

  Conflicts conflicts() const;
  // The conflict is only with single pods, or groups that rank behind this one, and they have nothing proven.
  bool others_give_way(const Conflicts& conflicts) const;
  void withdraw_for(const Conflicts& conflicts);
  // Withdraws everything unmarked, in the same order whichever manager does it; false when there is nothing.
  bool withdraw();
  bool holds_something() const;
  // Since the oldest unmarked allocation, or (`newest`) since the newest of all allocations.
  Duration held_for(bool newest) const;
  bool timed_out() const { return held_for(false) >= members_.hold_timeout; }
  // Ends a reconcile that wrote nothing: requeues for when the unmarked allocations time out, or withdraws them.
  void watch_holds();

  // Every member waits for the same reason: the event goes to the first pod, the condition to each.
  void say(const std::string& sentence, Fit fit = Fit::kUndecided);
  // The other members read the reason when they run; pods that we bind get their first condition at once.
  void run_others_to_be_bound();
  void park(const std::vector<Member*>& asked);
  reconcile::ReconcileResult merged();

  const reconcile::View& view_;
  const Tools& tools_;
  const std::shared_ptr<MemberFacts> made_;
  const GroupMembers& members_;
  const Duration spent_;
  GroupHints hints_;
  std::vector<Member> pods_;
  Member& first_;                             // of pods_: its key is reconciled
  const api::Pod* asks_for_rails_ = nullptr;  // one of pods_; null: none does
  bool committed_ = false;
  bool unfinished_ = false;  // the search goes on in the next slice, and nothing was decided
};

}  // namespace dra::allocation
