#include "pkg/inspect/state/alignment.h"

#include <algorithm>
#include <map>

#include "pkg/api/location_attributes.h"

namespace dra::inspect {
namespace {

constexpr size_t kMostNodesNamed = 3;

// The values of one attribute on one node.
struct ValuesOfNode {
  size_t devices = 0;
  bool differ = false, unknown = false;
  api::DeviceAttribute first;
};
using ByNode = std::map<std::string, ValuesOfNode, std::less<>>;

void add_value(ValuesOfNode& node, const api::DeviceAttribute& value) {
  if (node.devices++ == 0) node.first = value;
  node.differ = node.differ || !(value == node.first);
  node.unknown = node.unknown || value == api::DeviceAttribute(api::kUnknownNumaNode);
}

bool says_nothing(const std::string& attribute, const ValuesOfNode& node) {
  return api::is_numa_node(attribute) ? node.unknown : !node.differ;
}

}  // namespace

std::vector<SilentAttribute> silent_attributes(const Objects& objects) {
  std::map<std::string, ByNode> values;  // by attribute
  for (const auto& [name, slice] : objects.slices)
    for (const api::Device& device : slice->devices) {
      const std::string& node = slice->per_device_node_selection ? device.node_name : slice->node_name;
      if (node.empty()) continue;
      for (const auto& [key, value] : device.attributes) {
        if (!api::is_numa_node(key) && !api::is_pcie_root(key)) continue;
        const bool qualified = key.find('/') != std::string::npos;
        add_value(values[qualified ? key : slice->driver + "/" + key][node], value);
      }
    }
  std::vector<SilentAttribute> silent;
  for (const auto& [attribute, nodes] : values) {
    SilentAttribute one{attribute, {}, 0};
    for (const auto& [node, of_node] : nodes) {
      if (of_node.devices < 2) continue;  // nothing to align
      ++one.of;
      if (says_nothing(attribute, of_node)) one.nodes.push_back(node);
    }
    if (!one.nodes.empty()) silent.push_back(std::move(one));
  }
  return silent;
}

std::string words_of(const SilentAttribute& silent) {
  std::vector<std::string> named(
      silent.nodes.begin(),
      silent.nodes.begin() + static_cast<std::ptrdiff_t>(std::min(kMostNodesNamed, silent.nodes.size())));
  if (silent.nodes.size() > named.size()) named.emplace_back("...");
  return std::string(api::is_numa_node(silent.attribute) ? "it is -1, unknown, on "
                                                         : "all devices of a node share one value on ") +
         std::to_string(silent.nodes.size()) + " of " + std::to_string(silent.of) + " nodes (" + join(named, ", ") +
         ")";
}

bool is_about(const SilentAttribute& silent, std::string_view wanted) {
  return silent.attribute == wanted ||
         (wanted.find('/') == std::string_view::npos && api::bare_attribute(silent.attribute) == wanted);
}

}  // namespace dra::inspect
