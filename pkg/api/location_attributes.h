// Attributes that say where a device is in its machine, and the values of them that say nothing.
//
// resource.kubernetes.io/pcieRoot and numaNode are Kubernetes' own; drivers publish the same names in their domains.
// In a virtual machine all devices often have one root complex, and a NUMA node of -1 is the kernel's word for unknown
// (NUMA_NO_NODE, as in /sys/bus/pci/devices/*/numa_node). Upstream's matchAttribute compares such values like any
// other.
#pragma once

#include <cstdint>
#include <string_view>

namespace dra::api {

inline constexpr int64_t kUnknownNumaNode = -1;

// The name without its domain.
constexpr std::string_view bare_attribute(std::string_view attribute) {
  return attribute.substr(attribute.rfind('/') + 1);  // npos + 1 is 0
}
constexpr bool is_numa_node(std::string_view attribute) {
  return bare_attribute(attribute) == "numaNode";
}
// One value on all devices of a node says nothing.
constexpr bool is_pcie_root(std::string_view attribute) {
  return bare_attribute(attribute) == "pcieRoot";
}

}  // namespace dra::api
