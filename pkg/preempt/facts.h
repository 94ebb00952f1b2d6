// Facts: what PodGroups, Jobs' annotations and PodDisruptionBudgets say about the pods of a world, in one form.
//
// Sources: KEP-4671 and KEP-5710 (PodGroups of scheduling.k8s.io), the coscheduling plugin (scheduling.x-k8s.io), and
// kube-apiserver's Eviction API of 1.36 for which pods count against a budget.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
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

// Sets Pod::group, Pod::group_missing and World::groups. Of the three ways to name a group the first one counts that a
// pod has: spec.schedulingGroup, the label, the annotation on the pods of a Job.
void join_groups(World& world, const std::vector<PodGroupFacts>& groups);

// The pods of a world by namespace: a budget looks at those of its own only. A cluster has thousands of both. Valid
// while the world's pods stay as they are.
class PodsByNamespace {
 public:
  explicit PodsByNamespace(const World& world);
  // Sorted.
  std::span<const uint32_t> of(std::string_view ns) const;

 private:
  std::unordered_map<std::string_view, std::vector<uint32_t>> pods_;
};

// The pods of the world that the budget selects, and those of them whose eviction counts.
Budget budget_of(const World& world, const PodsByNamespace& pods, const api::PodDisruptionBudget& budget);

// Sets Pod::gib. `memory` is what a device has, in GiB; shares count what they consume of it.
void measure(World& world, const std::function<double(const api::DeviceRequestAllocationResult&)>& memory);

}  // namespace dra::preempt
