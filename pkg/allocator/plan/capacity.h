// Consumable capacity (KEP-5075): the amount a request takes of each capacity of a device, by the request policies.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "pkg/inventory/slice_table.h"

namespace dra::allocator {

using CapacityRequests = std::map<std::string, api::Quantity, std::less<>>;

// Whether a device can satisfy a capacity request, and with which amounts.
struct CapacityFit {
  bool fits = false;
  std::string short_of;                    // the capacity that does not fit, if any
  std::vector<inventory::Amount> amounts;  // by entry of the shape
  std::vector<api::Quantity> quantities;   // the same, as written in consumedCapacity
};

// `fractional`: DRAFractionalCapacityRange. Then the steps of a range count in thousandths if its minimum, maximum and
// step are whole thousandths; otherwise, and without the gate, in whole units, rounded up.
//
// `either_name`: a request may name a capacity of the driver's own domain with or without it (1.38).
CapacityFit fit_capacity(const inventory::CapacityShape& shape, const CapacityRequests& requests, bool fractional,
                         bool either_name = false);

}  // namespace dra::allocator
