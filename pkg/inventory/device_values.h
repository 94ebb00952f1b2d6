// The values that one published device has of an attribute, for rules over devices that are allocated already.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pkg/inventory/device_index.h"

namespace dra::inventory {

// Codes (value_code.h), sorted, each once; empty: the device has no such attribute, or a list while lists are off.
// Nullopt: no slice of the pool has the device. Of devices with equal names, those of per-node pools, the first counts.
std::optional<std::vector<std::string>> device_values(const DeviceIndex& device_index, std::string_view driver,
                                                      std::string_view pool, std::string_view device,
                                                      std::string_view attribute);

}  // namespace dra::inventory
