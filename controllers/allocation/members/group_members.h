// The pods of a group as the allocation controller sees them, derived from the objects alone. Pure.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "controllers/allocation/members/group_rank.h"
#include "controllers/allocation/protocol.h"
#include "pkg/base/timestamp.h"
#include "pkg/protocol/groups.h"
#include "pkg/protocol/wholes.h"

namespace dra::allocation {

struct GroupMembers {
  protocol::GroupRef group;
  uint32_t min_count = 0;
  Duration hold_timeout{};
  protocol::TopologyWish topology;
  // Ours to place, oldest first: gated by us, or ours to bind. Reconciling the first one's key reconciles them all.
  std::vector<const api::Pod*> waiting;
  // A member was ungated or bound, and has not failed: the others join it one by one.
  bool launched = false;
  // Of a group of groups, and by `waiting` the part of it. Null: a group of pods.
  std::shared_ptr<const protocol::Whole> whole;
  std::vector<uint32_t> part_of;
  // The groups of groups that this one joins, which are launched; the widest first. All are placed in its domain.
  std::vector<protocol::GroupRef> joins;
};

// The members of the group of a member pod (Membership::State::kMember).
GroupMembers members_of(const reconcile::View& view, const protocol::Membership& membership, const Options& options);
// By age, so that a later member does not take over in the middle of a step.
bool is_older(const api::Pod* a, const api::Pod* b);
// The pod is a member of the group (its key) and ours to place.
bool may_lead(const reconcile::View& view, const api::Pod& pod, std::string_view group, const Options& options);
// The waiting member that is reconciled for all of them; null: none waits. Visits every pod of the group.
const api::Pod* leader_of(const reconcile::View& view, std::string_view group, const Options& options);

// Members whose marks, or gates and bindings, one reconcile writes. A group with more is committed by the first ones
// and goes forward, as after a crash between two marks; and it is launched by the first ones, and the others follow one
// by one, as after a crash between two gates.
inline constexpr size_t kUngatedAtOnce = 128;
// The leader's run binds one pod after the other; the others' own runs do it side by side.
inline constexpr size_t kBoundAtOnce = 16;

// The pod was ungated or bound, and has not failed.
bool is_launched(const reconcile::View& view, const api::Pod& pod);
// And is not ours to bind: such a pod never had a gate, and is on the list of users as soon as its claims are proven.
bool is_launched(const reconcile::View& view, const api::Pod& pod, const Options& options);
// One of a few pods of the group that have started shows that GroupMembers::launched is true; false proves nothing. So
// that the pods of a large group that runs do not visit each other.
bool surely_launched(const reconcile::View& view, std::string_view group, const Options& options);
// How many pods of the group were launched, counted up to `enough`. Of a group beyond kMaxGroupMembers, whose pods are
// not all visited: how many have started (pkg/protocol/groups.h).
size_t launched_of(const reconcile::View& view, std::string_view group, size_t enough, const Options& options);
GroupRank rank_of(const std::vector<const api::Pod*>& waiting);

// One of the pod's claims bears a mark that was made for this pod.
bool is_marked(const api::Pod& pod, const PodState& state);
// When the claim was allocated; nothing when unknown.
std::optional<Timestamp> allocated_at(const api::ResourceClaim& claim);

}  // namespace dra::allocation
