// Same silicon: devices that a request could take but for another name of the same hardware, and those that belong to a
// device plugin. For explanations; visits the devices of the nodes asked about.
#pragma once

#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "pkg/allocator/plan/plan.h"
#include "pkg/inventory/device_index.h"

namespace dra::allocator {

// An extended resource of a node that a device plugin may serve.
struct PluginResource {
  std::string name;
  bool offered = false;  // in the node's status.allocatable, more than 0
  bool used = false;     // by a pod on the node that got it without a claim
};

struct SiliconReasons {
  // The device is the same hardware as one that is held.
  struct Same {
    std::string device;  // driver/pool/device
    std::string holder;
    std::string value;  // "pci 0000:1a:00.0"
    auto operator<=>(const Same&) const = default;
  };
  // The device, or one of the same hardware, belongs to the node's device plugin.
  struct Plugin {
    std::string node;
    std::string driver;
    auto operator<=>(const Plugin&) const = default;
  };
  std::vector<Same> same;      // by device
  std::vector<Plugin> plugin;  // by node
};

// Sorted, each once. Alternatives with adminAccess are left aside, and for `same` those that share silicon.
SiliconReasons silicon_reasons(const Plan& plan, std::span<const inventory::NodeId> nodes,
                               inventory::DeviceIndex& device_index, Filters& filters);

// Whether the resource makes a driver's devices the device plugin's.
bool is_plugins(identity::PluginUse use, const PluginResource& resource);

// The drivers of whose devices the resource consists on the node: a class with this extendedResourceName selects a
// device of the driver there, or identity::Rules names it.
std::set<std::string> drivers_of_resource(const inventory::DeviceIndex& device_index, Selectors& selectors,
                                          inventory::NodeId node, const std::string& resource);

// The drivers whose devices on the node are the device plugin's, each with the first resource that makes it so.
std::map<std::string, std::string> plugin_drivers(const inventory::DeviceIndex& device_index, Selectors& selectors,
                                                  inventory::NodeId node, std::span<const PluginResource> resources);

}  // namespace dra::allocator
