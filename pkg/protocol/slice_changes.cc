#include "pkg/protocol/slice_changes.h"

#include <algorithm>
#include <set>
#include <string_view>

namespace dra::protocol {

using namespace reconcile;

namespace {

using Facts = std::map<std::string_view, std::string>;  // by device

Facts facts_of(const api::ResourceSlice* slice, SliceChanges::Fact fact) {
  Facts facts;
  if (!slice) return facts;
  for (const api::Device& device : slice->devices)
    if (std::string text = fact(device); !text.empty()) facts.emplace(device.name, std::move(text));
  return facts;
}

// The devices for which the facts differ.
std::set<std::string, std::less<>> changed(const Facts& before, const Facts& after) {
  std::set<std::string, std::less<>> names;
  const auto collect = [&](const Facts& one, const Facts& other) {
    for (const auto& [name, text] : one) {
      const auto there = other.find(name);
      if (there == other.end() || there->second != text) names.emplace(name);
    }
  };
  collect(before, after);
  collect(after, before);
  return names;
}

bool uses(const api::ResourceClaim& claim, const std::string& driver, const std::string& pool,
          const std::set<std::string, std::less<>>& devices) {
  if (!claim.status.allocation) return false;
  const auto& results = claim.status.allocation->results;
  return std::any_of(results.begin(), results.end(), [&](const api::DeviceRequestAllocationResult& result) {
    return result.driver == driver && result.pool == pool && devices.contains(result.device);
  });
}

}  // namespace

bool SliceChanges::pool_changed(const inventory::Inventory& inventory, const PoolName& name) {
  const auto pool = inventory.pool(name.first, name.second);
  const auto last = seen_.find(name);
  if (!pool) {
    if (last != seen_.end()) seen_.erase(last);
    return true;
  }
  // Nodes may judge it differently, each by its own slices, and all of them count.
  if (pool->differs_by_node) return true;
  const Seen now{pool->generation, pool->state};
  if (last != seen_.end() && last->second == now) return false;
  seen_[name] = now;
  return true;
}

void SliceChanges::visit(const View& view, const inventory::Inventory& inventory, const api::ResourceSlice* before,
                         const api::ResourceSlice* after, Fact fact, const Visit& visit, EnqueueRequests& out) {
  const bool moved = before && after && (before->driver != after->driver || before->pool.name != after->pool.name);
  if (moved) {
    this->visit(view, inventory, before, nullptr, fact, visit, out);
    return this->visit(view, inventory, nullptr, after, fact, visit, out);
  }
  const api::ResourceSlice& slice = after ? *after : *before;
  const PoolName pool{slice.driver, slice.pool.name};
  Which which;
  which.all = pool_changed(inventory, pool);
  if (!which.all) which.devices = changed(facts_of(before, fact), facts_of(after, fact));
  if (!which.empty()) begin(view, pool, std::move(which), visit, out);
}

void SliceChanges::begin(const View& view, const PoolName& pool, Which which, const Visit& visit,
                         EnqueueRequests& out) {
  if (const auto known = walking_.find(pool); known != walking_.end()) {
    if (const std::shared_ptr<Walking> walking = known->second.lock()) {
      walking->again.all = walking->again.all || which.all;
      walking->again.devices.merge(which.devices);
      return;
    }
    walking_.erase(known);
  }
  auto walking = std::make_shared<Walking>(Walking{pool, "", std::move(which), {}});
  if (!visit_portion(*walking, view, visit, out)) return;
  walking_.emplace(pool, walking);
  out.walks.push_back([walking, visit](const View& later, EnqueueRequests& more) {
    return visit_portion(*walking, later, visit, more);
  });
}

bool SliceChanges::visit_portion(Walking& walking, const View& view, const Visit& visit, EnqueueRequests& out) {
  const auto& [driver, pool] = walking.pool;
  const std::vector<const api::ResourceClaim*> claims =
      view.claims_on_pool_after(driver, pool, walking.at, kClaimsAtOnce);
  for (const api::ResourceClaim* claim : claims)
    if (walking.now.all || uses(*claim, driver, pool, walking.now.devices)) visit(view, *claim, out);
  if (claims.size() == kClaimsAtOnce) {
    walking.at = claims.back()->metadata.key();
    return true;
  }
  walking.at.clear();
  walking.now = std::exchange(walking.again, {});
  return !walking.now.empty();
}

}  // namespace dra::protocol
