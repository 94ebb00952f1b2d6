// The pods in an object of any kind: itself, or templates of pods at any depth, as JobSet, RayCluster, LeaderWorkerSet,
// Workflow and VirtualMachine have them. No kind is known by name: a pod is an object whose `spec` has a list of
// containers or of resourceClaims. Pure.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace dra::inspect {

inline constexpr size_t kMaxPodTemplates = 100;  // of one object; more are left out
inline constexpr uint64_t kMaxTemplateCopies = 1'000'000;

struct PodTemplate {
  std::string pointer;  // RFC 6901, of the object that has the pod's metadata and spec: "", "/spec/template"
  // The innermost name on the way, "workers" of a JobSet's replicatedJobs or the member's key; empty for the object's
  // only template.
  std::string part;
  // The product of `replicas` and `parallelism` on the way, which is what most kinds mean by them.
  uint64_t copies = 1;
};

// In the order of the object. Objects of scheduling.k8s.io have no pods: their resourceClaims are those of groups.
std::vector<PodTemplate> pod_templates_of(const nlohmann::json& object);

}  // namespace dra::inspect
