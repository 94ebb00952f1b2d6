// Devices that are shared by name alone. Pure.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "pkg/inspect/lint/finding.h"

namespace dra::inspect {

// A warning for each capacity of a ResourceSlice's shared device that every claim takes whole.
void lint_shares(const nlohmann::json& object, const Place& place, FindingList& findings);

}  // namespace dra::inspect
