// Scenarios of features other than plain claims: DeviceTaintRules, and in bind mode extended resources and binding
// conditions. Only on the embedded API server: stock control planes serve no rules.
#pragma once

#include <vector>

#include "test/integration/objects.h"
#include "test/integration/scenario.h"

namespace dra::integration {

std::vector<Scenario> feature_scenarios();

// A pod of the scheduler name "dra" that asks for this many of the extended resource below.
inline constexpr const char* kExtendedResource = "example.com/gpu";
Json extended_pod(const std::string& name, int count);
// The slice of objects.h, but its devices have the binding condition Attached and the failure condition Broken.
Json slice_with_conditions(const std::string& node, size_t devices);
Json taint_rule(const std::string& name, const std::string& effect, const Json& selector);
// As the driver: sets this condition of the claim's only device to True.
void set_condition(Api& api, const api::ResourceClaim& claim, const std::string& type);

}  // namespace dra::integration
