// What the simulated workload controllers share: pods made from a template, their state, and status reports. Internal
// to this package. Pure.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "pkg/sandbox/step.h"

namespace dra::sandbox {

bool finished(const Json& pod);
bool deleting(const Json& object);
bool ready(const Json& pod);
// The number of ready pods.
int64_t ready_among(const std::vector<const Json*>& pods);

// Ten characters that change when the template does.
std::string template_hash(const Json& owner);

// The kind of an owner, for references and paths.
struct OwnerKind {
  const char* api_version;  // "apps/v1"
  const char* kind;         // "ReplicaSet"
  const char* path;         // "/apis/apps/v1"
  const char* plural;       // "replicasets"
};
inline constexpr OwnerKind kDeploymentOwner{"apps/v1", "Deployment", "/apis/apps/v1", "deployments"};
inline constexpr OwnerKind kReplicaSetOwner{"apps/v1", "ReplicaSet", "/apis/apps/v1", "replicasets"};
inline constexpr OwnerKind kStatefulSetOwner{"apps/v1", "StatefulSet", "/apis/apps/v1", "statefulsets"};
inline constexpr OwnerKind kDaemonSetOwner{"apps/v1", "DaemonSet", "/apis/apps/v1", "daemonsets"};
inline constexpr OwnerKind kJobOwner{"batch/v1", "Job", "/apis/batch/v1", "jobs"};

// "/apis/apps/v1/namespaces/ns/replicasets/name"
std::string object_path(const OwnerKind& kind, const Json& object);
Json controller_reference(const OwnerKind& kind, const Json& owner);
// A pod made from the owner's template, with these labels added.
Json pod_of(const OwnerKind& kind, const Json& owner, const std::string& name, const Json& extra_labels);
ApiCall create_pod(const Json& pod);
ApiCall delete_pod(const Json& pod);
// Patches /status if it differs.
void report(const OwnerKind& kind, const Json& owner, const Json& status, Step& step);

// The owner's conditions with this one added or replaced; an unchanged condition keeps its times.
struct WantedCondition {
  const char* type;
  const char* status;
  std::string reason;
  std::string message;
};
Json with_conditions(const Json& owner, const std::vector<WantedCondition>& wanted, WallTime now);

// An integer, or a percentage of `total`, rounded up or down; `fallback` if it is neither.
int64_t amount_of(const Json& value, int64_t total, bool round_up, int64_t fallback);

}  // namespace dra::sandbox
