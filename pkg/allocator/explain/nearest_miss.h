// Nearest miss: if the selectors of a class match no device at all, the closest near-match.
#pragma once

#include <string>
#include <vector>

#include "pkg/inventory/device_index.h"

namespace dra::allocator {

// "no device has driver gpu.nvidia.com; drivers here: gpu.example.com", "no device has attribute \"productname\": did
// you mean \"productName\"?". Visits a bounded number of devices. Derived from the text of the expressions, so it may
// find nothing; then it is empty.
std::string nearest_miss(const inventory::DeviceIndex& device_index, const std::vector<std::string>& selectors);

}  // namespace dra::allocator
