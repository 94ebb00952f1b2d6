// Consumable capacity (KEP-5075): what a request takes of each capacity of a device, by the request policies.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "pkg/inventory/slice_table.h"

namespace dra::allocator {

using CapacityRequests = std::map<std::string, api::Quantity, std::less<>>;

// Why a device cannot satisfy a capacity request at all; kNone: it can.
struct CapacityFit {
  bool fits = false;
  std::string short_of;                    // the capacity that does not fit, when not
  std::vector<inventory::Amount> amounts;  // by entry of the shape
  std::vector<api::Quantity> quantities;   // the same, as consumedCapacity writes them
};

// `fractional`: DRAFractionalCapacityRange. Steps of a range then count in thousandths where its least, most and step
// are whole thousandths, and in whole units, rounded up, otherwise and without the gate.
CapacityFit fit_capacity(const inventory::CapacityShape& shape, const CapacityRequests& requests, bool fractional);

}  // namespace dra::allocator
