// Keys of topology levels: a key of node labels, or a device attribute prefixed with kAttributeLevel. Pure.
#pragma once

#include <string_view>

#include "pkg/api/names.h"

namespace dra::api {

// "attribute:gpu.example.com/clique": label keys have no colon.
inline constexpr std::string_view kAttributeLevel = "attribute:";

// Checks the name of a device attribute or capacity with its domain: domain/name, where the name is a C identifier.
Problems device_attribute_problems(std::string_view text);
Problems topology_level_problems(std::string_view text);

}  // namespace dra::api
