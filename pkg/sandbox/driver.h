// What the simulated drivers do after an allocation: device conditions in the claim's status, and the health that a
// kubelet learns from them.
#pragma once

#include "pkg/sandbox/fleet.h"
#include "pkg/sandbox/step.h"

namespace dra::sandbox {

// Writes status.devices of an allocated claim for drivers that report conditions: the conditions of the fleet file, and
// each result's binding conditions once the driver's delay since the allocation has passed (the failure condition for a
// failing device). Leaves entries alone that already say so, and all entries of other drivers. Pure.
Step driver_pass(const Json& claim, const DriverBehaviours& drivers, WallTime now);

// containerStatuses[].allocatedResourcesStatus of one container (KEP-4680): its claims' devices whose health the fleet
// defines. Empty if there are none. `pod`: for the names of its claims.
Json resources_health(const Json& pod, const Json& container, const ClaimLookup& claims,
                      const DriverBehaviours& drivers);

}  // namespace dra::sandbox
