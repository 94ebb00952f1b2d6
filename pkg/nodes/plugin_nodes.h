// PluginNodes: on which nodes a driver's devices belong to the device plugin, and are given to no claim
// (docs/design/identity.md, rule 8).
//
//   PluginNodes plugins(inventory, allocator);
//   plugins.set_node(node); plugins.set_pod(pod); plugins.set_class(nullptr, &device_class);   // as objects change
//   while (!plugins.settle(8)) {}   // until then the inventory may give out what is the plugin's
//
// A node is judged when it offers an extended resource that a class or --device-plugin-resources names, or a pod uses
// one there, and again whenever that, the classes or its devices change: the selectors of the class are evaluated on
// the devices of the node. What is found is handed to DeviceIndex::set_plugin_drivers.
//
// Costs nothing for nodes and pods without such resources. Not thread-safe: the reactor's thread owns it.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "pkg/allocator/allocator.h"
#include "pkg/api/core.h"
#include "pkg/api/resource.h"
#include "pkg/identity/rules.h"
#include "pkg/inventory/inventory.h"

namespace dra::nodes {

class PluginNodes {
 public:
  // Both must outlive it.
  PluginNodes(inventory::Inventory& inventory, allocator::Allocator& allocator);

  // The inventory has the object already.
  void set_node(const api::Node& node);
  void remove_node(const std::string& name);
  void set_pod(const api::Pod& pod);
  void remove_pod(const std::string& uid);
  void set_class(const api::DeviceClass* before, const api::DeviceClass* after);
  // Judges `most` of the nodes that changed; false: more are left.
  bool settle(size_t most);

  // What makes a driver's devices the plugin's, or would with another value of --device-plugin.
  struct Overlap {
    std::string node, driver, resource;
    std::string allocatable;  // of the resource; empty: the node offers none
    size_t pods = 0;          // that use it there
    identity::PluginUse use = identity::PluginUse::kPlugin;
    bool plugins = false;  // the devices are the plugin's
    auto operator<=>(const Overlap&) const = default;
    // "the device plugin serves nvidia.com/gpu (allocatable 8, 3 pods)".
    std::string serves() const;
    // "--device-plugin gpu.nvidia.com is plugin".
    std::string flag() const;
  };
  // On all nodes, by node, driver and resource. Evaluates selectors on all of their devices; for people.
  std::vector<Overlap> overlaps();

 private:
  struct AtNode {
    std::map<std::string, std::string> offered;  // resources with more than 0, and how much
    std::map<std::string, size_t> used;          // resources, and by how many pods
    bool empty() const { return offered.empty() && used.empty(); }
  };
  struct Uses {
    std::string node;
    std::set<std::string> resources;
  };
  bool is_named(const std::string& resource) const;
  void count(const Uses& uses, bool more);
  void touch(const std::string& node) { dirty_.insert(node); }
  void touch_users(const std::string& resource);
  std::vector<allocator::PluginResource> resources_of(const AtNode& at) const;
  Overlap overlap_of(const std::string& node, const AtNode& at, const std::string& driver,
                     const std::string& resource) const;
  void judge(const std::string& node);

  inventory::Inventory& inventory_;
  allocator::Allocator& allocator_;
  std::map<std::string, AtNode, std::less<>> nodes_;  // those with some resource
  std::unordered_map<std::string, Uses> pods_;        // by uid; those that use some
  std::map<std::string, size_t> named_;               // resources, and by how many classes
  std::set<std::string> dirty_;
};

}  // namespace dra::nodes
