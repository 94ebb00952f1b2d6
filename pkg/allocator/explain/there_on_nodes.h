// How many devices a request could have on one node if nothing else used them: if that is too few, no ending claim and
// no removed taint will ever help.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "pkg/allocator/explain/device_counts.h"

namespace dra::allocator {

// The devices that class and request select, whatever else excludes them, on the node of `passed` that has the most. An
// upper bound, because devices of pools shared by several nodes count for each node. UINT32_MAX if some node has
// `enough`, or if it is unknown: incomplete or invalid pools. A device that serves several requests at once counts
// once: one request cannot have it twice. Visits each pool at most once. `passes`: whether a node is in `passed`.
uint32_t most_there_on_a_node(const DeviceCounts& device_counts, const inventory::DeviceIndex& device_index,
                              uint32_t enough, std::span<const inventory::NodeId> passed,
                              const std::function<bool(inventory::NodeId)>& passes);

}  // namespace dra::allocator
