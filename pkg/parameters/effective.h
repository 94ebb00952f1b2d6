// Which opaque parameters a driver would use for one device, in one form: two texts are equal if the driver would do
// the same by both. For devices that several claims share, where a driver refuses claims that differ.
//
//   effective_parameters("gpu.nvidia.com", "gpu", applied)   // "" for what it does without any
//
// For a driver with a table (tables.h): the last that applies counts, those for all requests pass devices of other
// types by (NVIDIA's device_state.go), and what is missing is filled in. Of other drivers nothing is known: all that
// apply count, in their order. Amounts are compared as they are written. Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace dra::parameters {

struct AppliedParameters {
  std::string_view json;  // empty: too large to be kept, so that nobody knows
  bool for_all = false;   // it names no request
};

// `applied`: those for the driver that apply to the request: first the class's, then the claim's. `device_type`: the
// device's attribute `type`; empty: unknown. What is not known is equal to nothing else: the text has `stranger` then.
std::string effective_parameters(std::string_view driver, std::string_view device_type,
                                 std::span<const AppliedParameters> applied, std::string_view stranger);

}  // namespace dra::parameters
