// The simulated workload controllers: they make pods for Deployments and Jobs, and report status.
//
// Simplified on purpose: a Deployment makes its pods itself, without ReplicaSets, and replaces all pods of an old
// template at once; a Job knows parallelism, completions, backoffLimit and suspend. Pods carry the labels and owner
// references that the real controllers set.
#pragma once

#include <vector>

#include "pkg/base/random.h"
#include "pkg/sandbox/step.h"

namespace dra::sandbox {

// At most this many pods are created in one pass; the next pass makes the rest.
inline constexpr size_t kMaxPodsPerPass = 100;

// `pods`: those whose controller is the object, in any order.
Step deployment_pass(const Json& deployment, const std::vector<const Json*>& pods, Random& random);
Step job_pass(const Json& job, const std::vector<const Json*>& pods, Random& random, WallTime now);

}  // namespace dra::sandbox
