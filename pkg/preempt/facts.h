// Facts: what PodGroups, Jobs' annotations and PodDisruptionBudgets say about the pods of a world, in one form.
//
// Sources: KEP-4671 and KEP-5710 (PodGroups of scheduling.k8s.io), the coscheduling plugin (scheduling.x-k8s.io), and
// kube-apiserver's Eviction API of 1.36 for which pods count against a budget.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pkg/api/eviction.h"
#include "pkg/preempt/world.h"

namespace dra::preempt {

inline constexpr std::string_view kGroupLabel = "scheduling.x-k8s.io/pod-group";
inline constexpr std::string_view kGroupAnnotation = "dra-controller-manager/group";

struct PodGroupFacts {
  bool of_plugins = false;           // scheduling.x-k8s.io
  std::string key;                   // "namespace/name"
  std::optional<int64_t> min_count;  // minCount or minMember; nothing: policy basic
  bool whole = false;                // disruptionMode PodGroup
};

// It may be of a group: of the three ways to name one (spec.schedulingGroup, the label, the annotation on the pods of a
// Job) it has one.
bool names_group(const api::Pod& pod);

// Sets Pod::group, Pod::group_missing and World::groups. Of the three ways the first one counts that a pod has. `pods`:
// at least all that names_group() is true for.
void join_groups(World& world, const std::vector<PodGroupFacts>& groups, std::span<const uint32_t> pods);
void join_groups(World& world, const std::vector<PodGroupFacts>& groups);  // of all pods

// Adds the budgets to the world, in their order, with the pods of the world that each selects, and those of them whose
// eviction counts. A cluster has thousands of both: each pod is looked at once, under the budgets that ask for the
// value of a label that it has.
void add_budgets(World& world, std::span<const std::shared_ptr<const api::PodDisruptionBudget>> budgets);

// Sets Pod::gib. `memory` is what a device has, in GiB; shares count what they consume of it.
void measure(World& world, const std::function<double(const api::DeviceRequestAllocationResult&)>& memory);

}  // namespace dra::preempt
