// How many devices a request could have on one node if everything else let go of them: where that is too few, no claim
// that ends and no taint that goes will ever help.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "pkg/allocator/census.h"

namespace dra::allocator {

// Devices that class and request select, whatever else stands in their way, on the node of `passed` that has most: an
// upper bound, for devices of pools that several nodes share count for each node. UINT32_MAX where some node has
// `enough`, or where that is not known: pools of which more is to come or that are published wrongly, and devices that
// serve several requests at once. At most one look at each pool. `passes`: whether a node is one of `passed`.
uint32_t most_there_on_a_node(const Census& census, const inventory::Core& core, uint32_t enough,
                              std::span<const inventory::NodeId> passed,
                              const std::function<bool(inventory::NodeId)>& passes);

}  // namespace dra::allocator
