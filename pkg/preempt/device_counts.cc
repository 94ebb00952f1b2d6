#include "pkg/preempt/device_counts.h"

#include <algorithm>
#include <string>
#include <unordered_set>

namespace dra::preempt {
namespace {

// A claim for one device of the request; null: how many it takes is not known.
std::shared_ptr<const api::ResourceClaim> one_device(const api::ResourceClaim& claim,
                                                     const api::DeviceRequest& request) {
  if (!request.exactly || request.exactly->allocation_mode == "All" || request.exactly->admin_access) return nullptr;
  auto one = std::make_shared<api::ResourceClaim>();
  one->metadata = claim.metadata;
  one->spec.requests.push_back(request);
  one->spec.requests.front().exactly->count = 1;
  return one;
}

// Nodes whose pools have devices that counters block. `everywhere`: a pool of no one node has.
std::unordered_set<std::string> nodes_with_blocked_devices(const inventory::Inventory& devices, bool& everywhere) {
  std::unordered_set<std::string> nodes;
  for (const inventory::PoolInfo& pool : devices.pools()) {
    if (pool.held + pool.available == pool.devices && !pool.differs_by_node) continue;
    everywhere = everywhere || pool.node.empty() || pool.differs_by_node;
    nodes.insert(pool.node);
  }
  return nodes;
}

}  // namespace

DeviceCounts::DeviceCounts(const World& world, const std::vector<std::shared_ptr<const api::ResourceClaim>>& claims,
                           std::span<const inventory::NodeId> nodes) {
  bool everywhere = false;
  const std::unordered_set<std::string> blocked = nodes_with_blocked_devices(world.devices, everywhere);
  if (everywhere) return;
  for (const auto& claim : claims)
    for (const api::DeviceRequest& request : claim->spec.requests) {
      const auto one = one_device(*claim, request);
      if (one == nullptr) continue;
      allocator::Request asked;
      asked.claims.push_back(one);
      const allocator::FitCounts counts = world.allocator.fit_counts(asked, nodes);
      if (!counts.finished || counts.order_matters) continue;
      Wanted& wanted = wanted_.emplace_back();
      wanted.devices = request.exactly->count;
      wanted.request = &request;
      wanted.free.resize(nodes.size());
      for (size_t i = 0; i < nodes.size(); ++i)
        if (counts.now[i] != allocator::FitCounts::kUnbounded && !blocked.contains(world.devices.node_name(nodes[i])))
          wanted.free[i] = counts.now[i];
      if (std::all_of(wanted.free.begin(), wanted.free.end(), [](const auto& known) { return known.has_value(); }) &&
          counts.total_now <= static_cast<uint64_t>(INT64_MAX))
        wanted.total = static_cast<int64_t>(counts.total_now);
    }
}

}  // namespace dra::preempt
