// Which group a pod belongs to: pods that are placed together or not at all.
//
//   const Membership member = membership_of(view, pod);
//   if (member.state == Membership::State::kMember) ... view.pods_of_group(member.group.key()), member.min_count
//
// A pod names its group in one of three ways; the first one present counts:
//   spec.schedulingGroup.podGroupName           a PodGroup of scheduling.k8s.io with
//                                               spec.schedulingPolicy.gang.minCount
//   label scheduling.x-k8s.io/pod-group         a PodGroup of scheduling.x-k8s.io (v1alpha1) with spec.minMember
//   annotation dra-controller-manager/group     the pods of one Job (the pod's controller); the value is how many of
//                                               them must be placed together. On the Job's pod template, so that no
//                                               Jobs need to be read
// A group is of one namespace. Tenants write all of this: what is not understood is ignored and reported, and a group
// has at most kMaxGroupMembers members. Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pkg/api/core.h"
#include "pkg/protocol/topology.h"
#include "pkg/reconcile/view.h"

namespace dra::protocol {

inline constexpr std::string_view kGroupAnnotation = "dra-controller-manager/group";
// Of groups of groups (wholes.h).
inline constexpr std::string_view kParentGroupAnnotation = "dra-controller-manager/parent-group";
inline constexpr std::string_view kMinGroupsAnnotation = "dra-controller-manager/min-groups";
inline constexpr std::string_view kGroupLabel = "scheduling.x-k8s.io/pod-group";
inline constexpr uint32_t kMaxGroupMembers = 1024;

struct GroupRef {
  // kComposite: a CompositePodGroup. kWhole: all groups below a group, which are placed together (wholes.h).
  enum class Source : uint8_t { kCore, kPlugins, kJob, kComposite, kWhole };
  Source source = Source::kCore;
  std::string ns;
  std::string name;   // of the PodGroup, the CompositePodGroup or the Job
  std::string owner;  // kJob: the Job's uid
  // For indexes: "core:ns/name", "plugins:ns/name", "job:ns/uid", "composite:ns/name", "whole:ns/name".
  std::string key() const;
  // For people: "group ml/train", "job ml/train".
  std::string shown() const;
  bool operator==(const GroupRef&) const = default;
};
// The key() of the PodGroup (CompositePodGroup) of that API with this store key.
std::string group_key(reconcile::GroupApi api, std::string_view store_key);

// The group that the pod alone names; nothing: it belongs to no group.
std::optional<GroupRef> group_of(const api::Pod& pod);

struct Membership {
  enum class State : uint8_t {
    kAlone,   // in no group that counts
    kWaits,   // its group is not known yet, or can never be placed: `why`
    kMember,  // of `group`
  };
  State state = State::kAlone;
  GroupRef group;
  uint32_t min_count = 0;  // kMember: at least 2; 1 only if there are groups above it
  // kAlone: not empty if the pod names a group that is ignored. kWaits: what it waits for. A clause for people.
  std::string why;
  // kWaits: it ends by itself in a moment (a list is under way).
  bool ordinary = false;
  // kWaits: what its pods hold stays held meanwhile.
  bool keeps = false;
  // How long the group's unmarked holds last; nothing: the manager's own setting.
  std::optional<Duration> timeout;
  // kMember: for all members together.
  TopologyWish topology;
  // kMember: the groups of groups that it is placed together with, from the widest (wholes.h). A group that is only a
  // part of them may have min_count 1.
  std::vector<GroupRef> above;
  bool operator==(const Membership&) const = default;
};
Membership membership_of(const reconcile::View& view, const api::Pod& pod);  // wholes.cc
// The same without the groups above the pod's group, which the pod names.
Membership membership_in(const reconcile::View& view, const api::Pod& pod, GroupRef group);

// The pod runs or ran: it has a node and has not failed, or it succeeded.
bool has_started(const api::Pod& pod);
// The group (its key) has more than kMaxGroupMembers pods. Nothing visits all of them then.
bool is_too_large(const reconcile::View& view, std::string_view group);

// The time since which the pod counts as waiting, used where age decides the order. For a member: the creation of its
// group's oldest pod or of its PodGroup, so that a recreated member keeps the group's place. For other pods: their own
// creation. In the format of creationTimestamp.
std::string waits_since(const reconcile::View& view, const api::Pod& pod);

}  // namespace dra::protocol
