// The checker of results: whether an allocation obeys every rule, told from the result's text alone.
#pragma once

#include <string>
#include <vector>

#include "test/oracle/scene.h"

namespace dra::oracle {

// The first rule that `results` (one per claim of the world, in order, decided for `node`) break, as a sentence that
// names claim, request and device; "" when they are valid. Besides the rules of conflict(): every request is served by
// exactly one alternative with exactly the devices asked for, each of which matches; adminAccess, tolerations, binding
// conditions, shareID, consumedCapacity, config and nodeSelector are what the API prescribes.
std::string broken_rule(const World& world, const std::string& node, const std::vector<api::AllocationResult>& results,
                        const SelectorJudge& judge = judge_selector);

}  // namespace dra::oracle
