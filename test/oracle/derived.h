// The oracle's part of derived attributes: what an expression makes of a device, for a few forms, evaluated by hand.
#pragma once

#include <optional>
#include <string>

#include "pkg/api/resource.h"

namespace dra::oracle {

// nullopt: the expression fails on this device, or is none of these forms:
//   an int, a text, device.driver, ATTR, a list of these, dyn(1.5)
//   a % b, a / b, a + b of ints; a == b, a > b; "id" in device.attributes["D"]
//   device.capacity["D"].id.compareTo(quantity("Q")) >= 0; condition ? a : b; device.attributes["D"].?id.orValue(-1)
// where ATTR is device.attributes["D"].id.
std::optional<api::DeviceAttribute> derive(const std::string& expression, const std::string& driver,
                                           const api::Device& device);

}  // namespace dra::oracle
