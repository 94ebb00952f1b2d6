// The checker of results: decides from the result alone whether an allocation obeys every rule.
#pragma once

#include <string>
#include <vector>

#include "test/oracle/scene.h"

namespace dra::oracle {

// The first rule that `results` (one per claim of the world, in order, decided for `node`) break, as a sentence that
// names claim, request and device; "" if they are valid. Besides the rules of conflict(): exactly one alternative
// serves each request, with exactly the devices asked for, each of which matches; adminAccess, tolerations, binding
// conditions, shareID, consumedCapacity, config and nodeSelector are as the API prescribes.
std::string broken_rule(const World& world, const std::string& node, const std::vector<api::AllocationResult>& results,
                        const SelectorJudge& judge = judge_selector);

}  // namespace dra::oracle
