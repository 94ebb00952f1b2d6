// The values by which the rails of a member's devices were judged, written on its claim beside the mark: some drivers
// take devices in use out of their slices, and the members that come later must still fit them.
//
//   dra-controller-manager/rails: {"of": "<hash of the allocation>", "net.example.com/rail": {"0": ["i5"]}}
//
// By attribute and index in the allocation's results; "i5" is the number 5, "b1" true, "srail-5" a string, "v1.2.0" a
// version. What is published counts first. Pure.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "pkg/api/resource.h"

namespace dra::protocol {

inline constexpr std::string_view kRailsMarkAnnotation = "dra-controller-manager/rails";
// A longer text is not written: the member's devices then count only while they are published.
inline constexpr size_t kMaxRailsMark = 16'384;

// Codes (pkg/inventory/value_code.h) by attribute and index of the result.
using RailsOfClaim = std::map<std::string, std::map<size_t, std::vector<std::string>>>;

// The annotation's value; empty if there is nothing to write, or too much.
std::string rails_mark(const RailsOfClaim& rails, const api::AllocationResult& allocation);
// What the claim's annotation says about its present allocation; empty: nothing. Anybody may have written it: what
// cannot be read is ignored.
RailsOfClaim marked_rails(const api::ResourceClaim& claim);

}  // namespace dra::protocol
