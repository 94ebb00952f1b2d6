// Scenarios of claims of PodGroups (P9). Only on the embedded API server, with the gate DRAWorkloadResourceClaims.
#pragma once

#include <vector>

#include "test/integration/scenario.h"

namespace dra::integration {

std::vector<Scenario> group_claim_scenarios();

}  // namespace dra::integration
