// Groups: pods that are placed together or not at all; pkg/gang decides them in one search, as in the manager.
// Complements State, which places single pods. Not thread-safe.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pkg/inspect/state/state.h"
#include "pkg/protocol/groups.h"
#include "pkg/protocol/memory_view.h"
#include "pkg/protocol/topology.h"

namespace dra::inspect {

struct GroupQuestion {
  std::string name;  // for people: "podgroup/train"
  uint32_t min_count = 1;
  struct Member {
    const api::Pod* pod = nullptr;  // not null, and outlives the answer
    std::vector<Claim> claims;      // all of the pod; members that share a claim have the same object
    std::string shape;              // members with the same text, other than "", differ only in names
    std::string only{};             // not empty: may go to this node alone
  };
  std::vector<Member> members;
  protocol::TopologyWish topology{};
  api::StringMap annotations{};   // of its PodGroup
  std::vector<Member> running{};  // others of the group that hold devices: those that join must fit their rails
};

struct GroupPlaced {
  allocator::Outcome outcome = allocator::Outcome::kInfeasible;
  // kFeasible: one per member; members beyond min_count without a place have another outcome. `results` are for the
  // claims that were not allocated, in the member's order, and that of the claim for extended resources last: members
  // that share a claim each have its result.
  std::vector<Placed> members;
  std::string why;               // for all other outcomes: one clause
  std::optional<size_t> guilty;  // kInfeasible: a member of the kind that lacks a place, if one kind does
};

// An error explains a refusal: too many pods, or one that cannot be read.
Result<GroupPlaced> place_group(State& state, const GroupQuestion& group);
// One member that joins a group which runs, or a pod of no group: as State::place(), on the rails of group.running.
// `group.members` is this pod alone.
Placed place_member(State& state, const GroupQuestion& group);
bool asks_for_rails(const GroupQuestion& group);

// The view from which membership in groups is read: pods that name one, and PodGroups.
protocol::MemoryView groups_in(const Objects& objects, const StateOptions& options);
// Of the group's PodGroup; none: it is a Job, or there is no such PodGroup.
api::StringMap annotations_of(const reconcile::View& view, const protocol::GroupRef& group);
// Claims by key in another state than the objects have.
using ChangedClaims = std::map<std::string, Claim>;
// The group's members that hold devices, but for those asked about: GroupQuestion::running. Points into `view`.
std::vector<GroupQuestion::Member> holders_beside(const Objects& objects, const reconcile::View& view,
                                                  const protocol::GroupRef& group,
                                                  const std::vector<GroupQuestion::Member>& asked,
                                                  const ChangedClaims& changed = {});
// The question about this pod for place_member(); `member`: its membership in `view`.
GroupQuestion joining(const Objects& objects, const reconcile::View& view, const protocol::Membership& member,
                      const api::Pod& pod, std::vector<Claim> claims, const ChangedClaims& changed = {});
// The pod waits, and nothing but the manager's gate holds it.
bool can_be_decided(const api::Pod& pod);
// A member runs or has succeeded: the others join one by one.
bool is_started(const reconcile::View& view, const protocol::Membership& member);
// GroupQuestion::Member::shape: pods of one controller have one template.
std::string shape_of(const GroupQuestion::Member& member);

}  // namespace dra::inspect
