#include "pkg/nodes/plugin_nodes.h"

#include <algorithm>

#include "pkg/api/plugin_resources.h"
#include "pkg/inventory/device_index.h"

namespace dra::nodes {

PluginNodes::PluginNodes(inventory::Inventory& inventory, allocator::Allocator& allocator)
    : inventory_(inventory), allocator_(allocator) {}

bool PluginNodes::is_named(const std::string& resource) const {
  if (named_.contains(resource)) return true;
  const auto& of_rules = inventory_.device_index().silicon().rules().plugin_resources;
  return std::any_of(of_rules.begin(), of_rules.end(),
                     [&](const auto& driver) { return driver.second.contains(resource); });
}

void PluginNodes::set_node(const api::Node& node) {
  std::map<std::string, std::string> offered;
  for (const auto& [resource, amount] : node.allocatable)
    if (resource.find('/') != std::string::npos && api::offers(node, resource)) offered.emplace(resource, amount);
  const auto known = nodes_.find(node.metadata.name);
  if (known == nodes_.end() && offered.empty()) return;
  AtNode& at = known == nodes_.end() ? nodes_[node.metadata.name] : known->second;
  if (at.offered == offered) return;
  at.offered = std::move(offered);
  touch(node.metadata.name);
}

void PluginNodes::remove_node(const std::string& name) {
  const auto known = nodes_.find(name);
  if (known == nodes_.end() || known->second.offered.empty()) return;
  known->second.offered.clear();
  touch(name);
}

void PluginNodes::count(const Uses& uses, bool more) {
  AtNode& at = nodes_[uses.node];
  for (const std::string& resource : uses.resources)
    if (more)
      ++at.used[resource];
    else if (--at.used[resource] == 0)
      at.used.erase(resource);
  touch(uses.node);
}

void PluginNodes::set_pod(const api::Pod& pod) {
  Uses uses;
  // Most pods are not asked: they have no node, or are the same as before on the same one.
  if (!pod.node_name.empty() && !pod.terminal()) uses = {pod.node_name, api::plugin_resources(pod)};
  const auto known = pods_.find(pod.metadata.uid);
  if (known == pods_.end() && uses.resources.empty()) return;
  if (known != pods_.end()) {
    if (known->second.node == uses.node && known->second.resources == uses.resources) return;
    count(known->second, false);
    pods_.erase(known);
  }
  if (uses.resources.empty()) return;
  count(uses, true);
  pods_.emplace(pod.metadata.uid, std::move(uses));
}

void PluginNodes::remove_pod(const std::string& uid) {
  const auto known = pods_.find(uid);
  if (known == pods_.end()) return;
  count(known->second, false);
  pods_.erase(known);
}

void PluginNodes::touch_users(const std::string& resource) {
  for (const auto& [node, at] : nodes_)
    if (at.offered.contains(resource) || at.used.contains(resource)) touch(node);
}

void PluginNodes::set_class(const api::DeviceClass* before, const api::DeviceClass* after) {
  const auto resource_of = [](const api::DeviceClass* device_class) {
    return device_class == nullptr ? std::optional<std::string>() : device_class->extended_resource_name;
  };
  const std::optional<std::string> was = resource_of(before), is = resource_of(after);
  if (was == is && (!is || before->selectors == after->selectors)) return;
  if (was) {
    if (const auto known = named_.find(*was); known != named_.end() && --known->second == 0) named_.erase(known);
    touch_users(*was);
  }
  if (is) {
    ++named_[*is];
    touch_users(*is);
  }
}

std::vector<allocator::PluginResource> PluginNodes::resources_of(const AtNode& at) const {
  std::map<std::string, allocator::PluginResource> found;
  for (const auto& [resource, amount] : at.offered)
    if (is_named(resource)) found[resource] = {resource, true, false};
  for (const auto& [resource, pods] : at.used)
    if (is_named(resource)) {
      allocator::PluginResource& one = found[resource];
      one.name = resource;
      one.used = true;
    }
  std::vector<allocator::PluginResource> list;
  for (auto& [resource, one] : found) list.push_back(std::move(one));
  return list;
}

std::string PluginNodes::Overlap::serves() const {
  return "the device plugin serves " + resource + " (allocatable " + (allocatable.empty() ? "0" : allocatable) + ", " +
         std::to_string(pods) + (pods == 1 ? " pod)" : " pods)");
}

std::string PluginNodes::Overlap::flag() const {
  return "--device-plugin " + driver + " is " + std::string(identity::plugin_use_name(use));
}

PluginNodes::Overlap PluginNodes::overlap_of(const std::string& node, const AtNode& at, const std::string& driver,
                                             const std::string& resource) const {
  Overlap one{node, driver, resource, "", 0, inventory_.device_index().silicon().rules().plugin_use(driver), false};
  const auto offered = at.offered.find(resource);
  const auto used = at.used.find(resource);
  if (offered != at.offered.end()) one.allocatable = offered->second;
  if (used != at.used.end()) one.pods = used->second;
  one.plugins = allocator::is_plugins(one.use, {resource, offered != at.offered.end(), used != at.used.end()});
  return one;
}

void PluginNodes::judge(const std::string& node) {
  inventory::PluginDrivers drivers;
  if (const auto known = nodes_.find(node); known != nodes_.end()) {
    if (known->second.empty()) {
      nodes_.erase(known);
    } else if (const auto resources = resources_of(known->second); !resources.empty()) {
      for (const auto& [driver, resource] : allocator_.plugin_drivers(inventory_.node_id(node), resources)) {
        const Overlap one = overlap_of(node, known->second, driver, resource);
        drivers.emplace(driver, one.serves() + "; " + one.flag());
      }
    }
  }
  inventory_.device_index().set_plugin_drivers(node, std::move(drivers));
}

bool PluginNodes::settle(size_t most) {
  inventory::DeviceIndex& device_index = inventory_.device_index();
  // A node or resource that comes later is judged then, with what is published by then.
  device_index.track_published(!nodes_.empty() &&
                               !(named_.empty() && device_index.silicon().rules().plugin_resources.empty()));
  for (const inventory::NodeId node : device_index.take_published()) {
    const std::string& name = device_index.node_name(node);
    if (nodes_.contains(name)) touch(name);
  }
  for (; !dirty_.empty() && most > 0; --most) judge(dirty_.extract(dirty_.begin()).value());
  return dirty_.empty();
}

std::vector<PluginNodes::Overlap> PluginNodes::overlaps() {
  std::vector<Overlap> found;
  for (const auto& [node, at] : nodes_)
    for (const allocator::PluginResource& resource : resources_of(at))
      for (const std::string& driver : allocator_.drivers_of_resource(inventory_.node_id(node), resource.name))
        found.push_back(overlap_of(node, at, driver, resource.name));
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace dra::nodes
