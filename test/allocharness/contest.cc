#include "test/allocharness/contest.h"

#include <map>
#include <set>

#include "pkg/api/plugin_resources.h"
#include "pkg/identity/record.h"
#include "pkg/inventory/device_index.h"

namespace dra::allocharness {
namespace {

api::DeviceRequestAllocationResult held_entry(const oracle::DeviceName& name) {
  api::DeviceRequestAllocationResult entry;
  entry.request = "held";
  entry.driver = name.driver;
  entry.pool = name.pool;
  entry.device = name.device;
  return entry;
}

}  // namespace

Result<std::unique_ptr<Contest>> Contest::make(const oracle::World& world, const allocator::Options& options) {
  Result<inventory::Features> features = inventory::features_from_gates({world.gates.begin(), world.gates.end()});
  if (!features) return fail(features.error());
  features->stale_generations = world.stale_generations;
  features->either_capacity_name = world.either_capacity_name;
  std::unique_ptr<Contest> contest(new Contest(*features));
  contest->fill(world);
  contest->allocator_ = std::make_unique<allocator::Allocator>(contest->inventory_, options, contest->random_);
  contest->find_plugins(world);
  return contest;
}

void Contest::fill(const oracle::World& world) {
  if (world.identity_rules != identity::Rules()) inventory_.device_index().set_identity_rules(world.identity_rules);
  for (const api::DeviceClass& device_class : world.classes) inventory_.apply_class(device_class);
  for (const api::Node& node : world.nodes)
    nodes_.push_back(inventory_.apply_node(node.metadata.name, node.metadata.labels));
  // Upstream's tables contain slices with equal names, which no API server would; a suffix distinguishes them.
  std::map<std::string, int> names;
  for (api::ResourceSlice slice : world.slices) {
    const int seen = names[slice.metadata.name]++;
    if (seen > 0) slice.metadata.name += "~" + std::to_string(seen);
    inventory_.apply_slice(slice);
  }
  for (const api::DeviceTaintRule& rule : world.taint_rules) inventory_.apply_taint_rule(rule);
  hold(world);
  for (const oracle::DeviceName& name : world.admin_held) {
    api::AllocationResult allocation;
    allocation.results.push_back(held_entry(name));
    allocation.results[0].admin_access = true;
    inventory_.apply_allocation("admin-" + name.text(), allocation);
  }
  for (const api::ResourceClaim& claim : world.claims)
    request_.claims.push_back(std::make_shared<const api::ResourceClaim>(claim));
}

// As the manager does it: which nodes' devices belong to a device plugin.
void Contest::find_plugins(const oracle::World& world) {
  for (size_t n = 0; n < nodes_.size(); ++n) {
    const api::Node& node = world.nodes[n];
    std::map<std::string, allocator::PluginResource> resources;
    for (const auto& [name, amount] : node.allocatable)
      if (api::offers(node, name)) resources[name].offered = true;
    for (const api::Pod& pod : world.pods)
      if (pod.node_name == node.metadata.name)
        for (const std::string& name : api::plugin_resources(pod)) resources[name].used = true;
    std::vector<allocator::PluginResource> list;
    for (auto& [name, resource] : resources) list.push_back({name, resource.offered, resource.used});
    if (list.empty()) continue;
    plugins_[node.metadata.name] = allocator_->plugin_drivers(nodes_[n], list);
    inventory::PluginDrivers drivers;
    for (const auto& [driver, resource] : plugins_[node.metadata.name]) drivers.emplace(driver, resource);
    inventory_.device_index().set_plugin_drivers(node.metadata.name, std::move(drivers));
  }
}

// Every device and every share is held by a claim of its own; a device's consumed capacity belongs to its first share.
void Contest::hold(const oracle::World& world) {
  int holder = 0;
  auto apply = [&](api::DeviceRequestAllocationResult entry) {
    api::AllocationResult allocation;
    identity::Records records;
    if (const auto own = world.recorded.find({entry.driver, entry.pool, entry.device}); own != world.recorded.end())
      records.emplace(own->first.text(), own->second);
    for (std::string& text : identity::encode_records(records))
      allocation.config.push_back(
          {"FromClass", {}, api::OpaqueConfig{std::string(identity::kRecordDriver), std::move(text)}});
    allocation.results.push_back(std::move(entry));
    inventory_.apply_allocation("holder-" + std::to_string(holder++), allocation);
  };
  for (const oracle::DeviceName& name : world.allocated) apply(held_entry(name));
  std::map<oracle::DeviceName, api::StringMap> unclaimed = world.consumed;
  for (const auto& [name, share] : world.allocated_shares) {
    api::DeviceRequestAllocationResult entry = held_entry(name);
    entry.share_id = share;
    if (auto node = unclaimed.extract(name)) entry.consumed_capacity = std::move(node.mapped());
    apply(std::move(entry));
  }
  for (auto& [name, capacities] : unclaimed) {
    api::DeviceRequestAllocationResult entry = held_entry(name);
    entry.share_id = "00000000-0000-4000-8000-" + std::to_string(100000000000 + holder);
    entry.consumed_capacity = std::move(capacities);
    apply(std::move(entry));
  }
}

allocator::Decision Contest::decide() {
  if (nodes_.size() == 1) return allocator_->allocate(request_, nodes_[0]);
  allocator::FoundNodes found = allocator_->find_nodes(request_, nodes_, 1);
  allocator::Decision decision;
  if (!found.decisions.empty()) decision = std::move(found.decisions[0]);
  decision.outcome = found.outcome;
  decision.error = found.error;
  decision.steps = found.steps;
  return decision;
}

void Contest::disturb(inventory::NodeId node) {
  if (node == inventory::kNone && !nodes_.empty()) node = nodes_[0];
  if (disturbed_node_ != node) {
    disturbed_node_ = node;
    disturbance_.reset();
    const std::string name = inventory_.node_name(node);
    for (const inventory::PoolInfo& pool : inventory_.pools()) {
      if (!pool.node.empty() && pool.node != name) continue;
      for (const inventory::DeviceInfo& device : inventory_.devices(pool.id)) {
        if (!device.holders.empty() || device.allow_multiple_allocations) continue;
        disturbance_.emplace().results.push_back(
            held_entry({device.name.driver, device.name.pool, device.name.device}));
        break;
      }
      if (disturbance_) break;
    }
  }
  if (!disturbance_) return;
  inventory_.apply_allocation("disturbance", *disturbance_);
  inventory_.remove_claim("disturbance");
}

}  // namespace dra::allocharness
