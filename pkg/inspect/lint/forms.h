// Names of versions, kinds and fields: old forms, fields that are out of place or misspelt, and those that servers
// drop. Pure.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "pkg/inspect/lint/finding.h"
#include "pkg/inventory/features.h"

namespace dra::inspect {

// `rules`: fields of newer releases count as known by their rules.
void lint_forms(const nlohmann::json& object, const Place& place, const inventory::Features& rules,
                FindingList& findings);

}  // namespace dra::inspect
