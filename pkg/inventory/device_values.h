// The values that one published device has of an attribute, for rules over devices that are allocated already.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pkg/api/resource.h"
#include "pkg/inventory/device_index.h"

namespace dra::inventory {

// Codes (value_code.h), sorted, each once; empty: the device has no such attribute, or a list while lists are off.
// Nullopt: no slice of the pool has the device. Pools of several nodes may have devices of equal names: `node`, if it
// is known, says where the device is meant; otherwise the first counts.
std::optional<std::vector<std::string>> device_values(const DeviceIndex& device_index, std::string_view driver,
                                                      std::string_view pool, std::string_view device,
                                                      std::string_view attribute, NodeId node = kNone);
// Of a device of the allocation, which says the node.
std::optional<std::vector<std::string>> device_values(const DeviceIndex& device_index,
                                                      const api::AllocationResult& allocation,
                                                      const api::DeviceRequestAllocationResult& device,
                                                      std::string_view attribute);
// The node to which the allocation is bound; kNone: none, several, or one that is not known.
NodeId node_of(const DeviceIndex& device_index, const api::AllocationResult& allocation);

}  // namespace dra::inventory
