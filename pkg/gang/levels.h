// Topology levels that devices define: the nodes whose devices have one value of an attribute are a domain (the clique
// of NVLink, for example). The key of such a level is "attribute:" and the attribute with its domain, as in
// constraints; all other keys are label keys (pkg/api/topology_level.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "pkg/inventory/inventory.h"

namespace dra::gang {

inline constexpr uint32_t kMostDevicesOfALevel = 1u << 16;  // examined on one node; a node with more is in no domain

// The value shared by the devices that can be used on the node, as text; devices without the attribute do not count.
// Nothing: no device has it, or they have different values (or lists of several), so the node is in no domain.
std::optional<std::string> attribute_of_node(const inventory::Inventory& inventory, inventory::NodeId node,
                                             std::string_view key);

// The domain of a node: the values of the level and of all wider ones, which `value_of(level)` gives (a pointer or an
// optional text). Nothing: the node is in no domain of the level.
template <typename ValueOf>
std::optional<std::string> path_of(uint32_t level, const ValueOf& value_of) {
  std::string path;
  for (uint32_t wider = 0; wider <= level; ++wider) {
    const auto value = value_of(wider);
    if (!value && wider == level) return std::nullopt;
    path += (value ? "=" + *value : "-") + "\n";
  }
  return path;
}

// What nodes outside the level's domains lack: "the label rack", "one value of the device attribute a.example.com/b".
std::string words_of_level(const std::string& key);

}  // namespace dra::gang
