// The values that devices of allocated claims have of an attribute, for rules over members that hold some: those that
// are published, or else those that were written with the claim's mark (rail_mark.h). Pure.
#pragma once

#include <string>

#include "pkg/alignment/rail_values.h"
#include "pkg/api/resource.h"
#include "pkg/inventory/device_index.h"

namespace dra::protocol {

// Adds one entry for each device that the claim's allocation gives to the request, in its order; nothing if it has
// none.
void add_rail_values(const api::ResourceClaim& claim, const std::string& request, const std::string& attribute,
                     const inventory::DeviceIndex& device_index, alignment::MemberRails& out);

}  // namespace dra::protocol
