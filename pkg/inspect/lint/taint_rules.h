// DeviceTaintRules of a file that taint a device and leave the devices cut from it usable. Pure.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "pkg/inspect/lint/finding.h"
#include "pkg/inspect/lint/known.h"

namespace dra::inspect {

// Warns of an object of that kind, if there is a cluster. The file's other rules count: they may taint the rest.
void lint_taint_rule(const nlohmann::json& object, const Place& place, const Known& known, FindingList& findings);

}  // namespace dra::inspect
