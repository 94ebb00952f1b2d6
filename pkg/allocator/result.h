// From picks to the AllocationResults that go into the claims' status (KEP-4381).
#pragma once

#include <vector>

#include "pkg/allocator/search.h"
#include "pkg/base/random.h"

namespace dra::allocator {

// One result per claim of the plan. Fails only when `strict`, where upstream does: a device whose node selector has
// several terms (the API lets devices have them). Otherwise the first term that holds for the node is taken.
Result<std::vector<api::AllocationResult>> make_results(const Plan& plan, const Search& search,
                                                        const inventory::Core& core, Random& random, bool strict);

}  // namespace dra::allocator
