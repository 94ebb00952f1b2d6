// Groups of groups: which groups are placed together, some number of them or none.
//
//   std::optional<Ancestors> above = ancestors_of(view, group, pod);   // nothing: no group is above it
//   const Whole whole = whole_of(view, above->gangs.front());         // the tree of groups below the widest one
//
// A group names the group above it in one of two ways:
//   spec.parentCompositePodGroupName        of a PodGroup or a CompositePodGroup: a CompositePodGroup
//   annotation dra-controller-manager/parent-group     on a PodGroup of either API: one of the same API; on the pod
//                                           template of a Job that is a group: a PodGroup, of scheduling.k8s.io first
// and that one says how many of its children are placed together: spec.schedulingPolicy.gang.minGroupCount, or the
// annotation dra-controller-manager/min-groups on a PodGroup. With the policy `basic` it binds nobody: its children are
// placed independently. As a child of another group, a `basic` group counts once one of its children, or pods, is
// placed. The levels are at most kMaxLevels, that of the pods' groups among them.
// Tenants write all of this: what cannot be is refused by name. Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pkg/protocol/groups.h"
#include "pkg/protocol/topology.h"
#include "pkg/reconcile/view.h"

namespace dra::protocol {

inline constexpr uint32_t kMaxLevels = 4;
inline constexpr uint32_t kMaxGroupsOfWhole = 256;

struct Ancestors {
  std::vector<GroupRef> gangs;  // those that bind their children, the widest first
  std::string why;              // not empty: why the group can never be placed, or not yet. A clause
  bool ordinary = false;        // of `why`: it ends by itself in a moment
  // Required by the nearest group above that requires one: it holds for everything below.
  std::string required_level;
};
// `pod`: one of the group; for the annotation of a Job's pods.
std::optional<Ancestors> ancestors_of(const reconcile::View& view, const GroupRef& group, const api::Pod& pod);

// "namespace/name" of the group that this one names as the one above it; empty: none.
std::string parent_key_of(const api::PodGroup& group);
// The same of a pod of a Job that is a group.
std::string parent_key_of(const api::Pod& pod);

struct WholePart {
  GroupRef group;
  std::optional<uint32_t> parent;  // index of an earlier part; nothing: the whole itself
  uint32_t need = 0;               // of its children: parts, or pods; kNever if it can never be placed
  bool has_pods = false;           // it is a group of pods
  TopologyWish topology;
  bool operator==(const WholePart&) const = default;
};
inline constexpr uint32_t kNever = UINT32_MAX;

struct Whole {
  GroupRef group;  // kWhole
  std::vector<WholePart> parts;
  std::string why;  // not empty: it can never be placed. A clause
  // The fewest pods that are enough.
  uint64_t least() const;
  bool operator==(const Whole&) const = default;
};
// The group and everything below it.
Whole whole_of(const reconcile::View& view, const GroupRef& top);
// Of each part, whether it has what it needs: `count` is, by part, of its own pods.
std::vector<bool> satisfied_parts(const Whole& whole, const std::vector<uint32_t>& count);
// Keys of the groups of pods below the group, itself if it is one.
std::vector<std::string> groups_below(const reconcile::View& view, std::string_view key);

}  // namespace dra::protocol
