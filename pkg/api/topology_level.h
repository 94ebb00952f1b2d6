// Keys of topology levels: those of node labels, and attributes of devices behind kAttributeLevel. Pure.
#pragma once

#include <string_view>

#include "pkg/api/names.h"

namespace dra::api {

// "attribute:gpu.example.com/clique": no key of a label has a colon.
inline constexpr std::string_view kAttributeLevel = "attribute:";

// The name of an attribute or capacity of devices with its domain: domain/name, where the name is a C identifier.
Problems device_attribute_problems(std::string_view text);
Problems topology_level_problems(std::string_view text);

}  // namespace dra::api
