// How pods ask for devices, in pods and in templates of pods of every kind: what the API cannot refuse, because it is
// right in each object alone, and what leaves a container without its device. Pure.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "pkg/inspect/lint/finding.h"
#include "pkg/inspect/lint/known.h"

namespace dra::inspect {

// Returns whether the object has pods. `judged`: the API server's rules for the kind were applied, which already say
// that a container names a claim that its pod lacks.
//
// Rules: kubelet (claiminfo.go, cdiDevicesAsList) gives a container the devices of its claims' requests, and none,
// without an error, for a request that the claim does not have.
bool lint_pods(const nlohmann::json& object, const Place& place, const Known& known, bool judged,
               FindingList& findings);

}  // namespace dra::inspect
