// The simulated drivers' part after an allocation: conditions of devices in the claim's status, and the health that a
// kubelet learns from them.
#pragma once

#include "pkg/sandbox/fleet.h"
#include "pkg/sandbox/step.h"

namespace dra::sandbox {

// Writes status.devices of an allocated claim for the drivers that report one: the conditions of the fleet file, and
// the binding conditions of each result once the driver's delay since the allocation has passed (the failure condition
// for a device that fails). An entry that says so already is left alone, and those of other drivers always. Pure.
Step driver_pass(const Json& claim, const DriverBehaviours& drivers, WallTime now);

// containerStatuses[].allocatedResourcesStatus of one container (KEP-4680): its claims' devices whose health the fleet
// knows. Empty when there are none. `pod`: for the names of its claims.
Json resources_health(const Json& pod, const Json& container, const ClaimLookup& claims,
                      const DriverBehaviours& drivers);

}  // namespace dra::sandbox
