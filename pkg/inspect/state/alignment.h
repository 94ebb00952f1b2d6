// Alignment: attributes that should say where a device is in its machine, and say nothing on some nodes
// (pkg/api/location_attributes.h). Constraints on them are met there by any devices. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "pkg/inspect/state/objects.h"

namespace dra::inspect {

struct SilentAttribute {
  std::string attribute;           // qualified: "resource.kubernetes.io/pcieRoot"
  std::vector<std::string> nodes;  // where it says nothing, in the order of names
  size_t of = 0;                   // nodes with several devices that have it
};
// In the order of names; empty: none, or slices cannot be seen. Only devices of one node count.
std::vector<SilentAttribute> silent_attributes(const Objects& objects);

// "it is -1, unknown, on 2 of 3 nodes (a, b)".
std::string words_of(const SilentAttribute& silent);
// Whether a constraint or preference that names `wanted` is about it: a name without a domain is in the driver's.
bool is_about(const SilentAttribute& silent, std::string_view wanted);

}  // namespace dra::inspect
