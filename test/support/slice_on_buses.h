// A driver's devices on one node, by the PCI addresses that say which piece of silicon each is.
#pragma once

#include <string>
#include <vector>

#include "pkg/api/resource.h"

namespace dra::test {

inline constexpr const char* kBus = "resource.kubernetes.io/pciBusID";

// d0, d1, ... of the node and pool "a"; an empty address: a device without one.
inline api::ResourceSlice slice_on_buses(const std::string& driver, const std::vector<std::string>& buses) {
  api::ResourceSlice slice;
  slice.metadata.name = driver;
  slice.driver = driver;
  slice.pool = {"a", 1, 1};
  slice.node_name = "a";
  for (const std::string& bus : buses) {
    api::Device& device = slice.devices.emplace_back();
    device.name = "d" + std::to_string(slice.devices.size() - 1);
    if (!bus.empty()) device.attributes[kBus] = bus;
  }
  return slice;
}

}  // namespace dra::test
