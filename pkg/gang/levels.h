// Levels of a topology that devices say: the nodes whose devices carry one value of an attribute are a domain (the
// clique of NVLink, say). The key of such a level is "attribute:" and the attribute with its domain, as in
// constraints; all other keys are those of labels (pkg/api/topology_level.h).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "pkg/inventory/inventory.h"

namespace dra::gang {

inline constexpr uint32_t kMostDevicesOfALevel = 1u << 16;  // looked at on one node; with more it is in no domain

// The value that the devices which can be used on the node have, as text; devices without the attribute do not count.
// Nothing: no device has it, or they have different ones (or lists of several), so that the node is in no domain.
std::optional<std::string> attribute_of_node(const inventory::Inventory& inventory, inventory::NodeId node,
                                             std::string_view key);

// What nodes without a domain of the level lack: "the label rack", "one value of the device attribute a.example.com/b".
std::string words_of_level(const std::string& key);

}  // namespace dra::gang
