// Devices as cel_dra.json writes them.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "pkg/cel/device/device.h"

namespace dra::conformance {

// {"driver", "allowMultipleAllocations"?, "attributes"?: {name: {"int": 1}}, "capacity"?: {name: {"value": "1Gi"}}}
cel::DeviceInput make_device(const nlohmann::json& device);

}  // namespace dra::conformance
