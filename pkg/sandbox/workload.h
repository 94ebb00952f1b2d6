// The simulated workload controllers: create pods for Deployments (through ReplicaSets), StatefulSets, DaemonSets and
// Jobs, and report status.
//
// Each pass is a pure function of the owner and of what it owns; the simulation runs it again when one of them changes.
// Names, labels, annotations and owner references equal the real controllers' (1.36); the hashes in names differ.
// Simplified on purpose: a pod is available as soon as it is ready (no minReadySeconds), a Deployment does not scale
// its ReplicaSets in proportion during a rollout, a StatefulSet keeps no old template (a lost pod below its partition
// is recreated with the new one), a DaemonSet's maxSurge counts as maxUnavailable 1, and a Job supports parallelism,
// completions, backoffLimit and suspend.
#pragma once

#include <vector>

#include "pkg/base/random.h"
#include "pkg/sandbox/step.h"

namespace dra::sandbox {

// At most this many pods are created in one pass; the next pass creates the rest.
inline constexpr size_t kMaxPodsPerPass = 100;

// `sets`: the ReplicaSets whose controller is the Deployment, in any order. Recreate and RollingUpdate.
Step deployment_pass(const Json& deployment, const std::vector<const Json*>& sets, WallTime now);
// `pods`: those whose controller is the object, in any order.
Step replica_set_pass(const Json& set, const std::vector<const Json*>& pods, Random& random);
Step stateful_set_pass(const Json& set, const std::vector<const Json*>& pods);
Step job_pass(const Json& job, const std::vector<const Json*>& pods, Random& random, WallTime now);

// `nodes`: all nodes of the cluster. Creates a pod for each node that its template's node selector and affinity match
// and whose taints it tolerates, and binds it there by node affinity, as upstream; resources are left to the scheduler.
Step daemon_set_pass(const Json& set, const std::vector<const Json*>& pods, const std::vector<const Json*>& nodes,
                     Random& random);

}  // namespace dra::sandbox
