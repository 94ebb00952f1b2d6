// The annotations of pairs and rails: texts that are refused, names of claims and requests that do not exist, groups
// that no claim can ever have, and attributes that no device of a request publishes.
//
// Rules: pkg/alignment, which also refuses them in the manager. Pure.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "pkg/inspect/lint/finding.h"
#include "pkg/inspect/lint/known.h"
#include "pkg/inventory/features.h"

namespace dra::inspect {

// Of the object, of the claims of a template, and of pod templates in it. What claims are neither in the file nor in
// the cluster is not judged.
void lint_pairs(const nlohmann::json& object, const Place& place, const Known& known,
                const inventory::FeatureChoice& features, FindingList& findings);

}  // namespace dra::inspect
