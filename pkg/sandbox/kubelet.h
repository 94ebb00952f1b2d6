// The simulated kubelet: runs bound pods whose claims are allocated and reserved, ends them, and removes deleted
// pods.
//
// It keeps the real kubelet's conditions (1.36): a pod runs only when each of its claims exists, is allocated, lists
// the pod's uid in reservedFor, and, if made from a template, is controlled by the pod. Nothing is executed: "running"
// is a status, and no driver is called. A pod whose restartPolicy is not Always ends when its commands would
// (run_time.h), or after the seconds of its dra-sandbox/run-seconds annotation, which may be added while the pod runs,
// with the code of dra-sandbox/exit-code (default 0).
#pragma once

#include "pkg/sandbox/fleet.h"
#include "pkg/sandbox/step.h"

namespace dra::sandbox {

// `pod` is any pod of any node of the simulated fleet; `drivers` define the health of their devices. `volumes_mounted`
// false: the pod does not start yet.
Step kubelet_pass(const Json& pod, const ClaimLookup& claims, WallTime now, const DriverBehaviours& drivers = {},
                  bool volumes_mounted = true);

// The conditions and addresses of a running node: the status to merge into a new Node.
Json node_status(std::string_view node_name, WallTime now);

}  // namespace dra::sandbox
