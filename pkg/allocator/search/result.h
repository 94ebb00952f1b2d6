// Turns picks into the AllocationResults of the claims' status (KEP-4381).
#pragma once

#include <vector>

#include "pkg/allocator/search/search.h"
#include "pkg/base/random.h"

namespace dra::allocator {

// One result per claim of the plan. Fails only if `strict`, where upstream does: on a device whose node selector has
// several terms (the API allows that). Otherwise the first term that matches the node is used.
Result<std::vector<api::AllocationResult>> make_results(const Plan& plan, const Search& search,
                                                        const inventory::DeviceIndex& device_index, Random& random,
                                                        bool strict);

}  // namespace dra::allocator
