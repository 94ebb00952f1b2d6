// The pin: the node requirements that lifting the gate adds to a pod, so that it goes where its devices are. The rules
// are those of controllers/allocation/pod/release.cc. Pure.
#pragma once

#include <memory>
#include <vector>

#include "pkg/api/core.h"
#include "pkg/api/resource.h"

namespace dra::protocol {

using AllocatedClaims = std::vector<std::shared_ptr<const api::ResourceClaim>>;

// Removes what the manager added to the pod; `claims`: those of the pod. A pod whose managed fields show that the
// manager never wrote it stays as it is, as does a pod of a DaemonSet, which its controller pins.
void remove_pin(api::Pod& pod, const AllocatedClaims& claims);

}  // namespace dra::protocol
