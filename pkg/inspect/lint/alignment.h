// Claims and templates that align devices by an attribute which says nothing in this cluster.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "pkg/inspect/lint/finding.h"
#include "pkg/inspect/lint/known.h"

namespace dra::inspect {

// `object`: of apiVersion resource.k8s.io/v1. Without a cluster nothing is said.
void lint_alignment(const nlohmann::json& object, const Place& place, const Known& known, FindingList& findings);

}  // namespace dra::inspect
