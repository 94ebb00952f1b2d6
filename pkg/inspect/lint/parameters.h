// Opaque parameters of drivers, which the API server takes as they are (pkg/parameters has the rules). Pure.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "pkg/inspect/lint/finding.h"

namespace dra::inspect {

// All opaque parameters of a claim, a template or a class of resource.k8s.io/v1: an error for what the driver refuses,
// a warning for what it takes with a feature gate that is off by default.
void lint_parameters(const nlohmann::json& object, const Place& place, FindingList& findings);

}  // namespace dra::inspect
