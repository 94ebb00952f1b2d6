#include "pkg/reconcile/slice_changes.h"

#include <algorithm>
#include <set>
#include <string_view>

namespace dra::reconcile {

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
std::set<std::string_view> changed(const Facts& before, const Facts& after) {
  std::set<std::string_view> names;
  const auto collect = [&](const Facts& one, const Facts& other) {
    for (const auto& [name, text] : one) {
      const auto there = other.find(name);
      if (there == other.end() || there->second != text) names.insert(name);
    }
  };
  collect(before, after);
  collect(after, before);
  return names;
}

bool uses(const api::ResourceClaim& claim, const std::string& driver, const std::string& pool,
          const std::set<std::string_view>& devices) {
  if (!claim.status.allocation) return false;
  const auto& results = claim.status.allocation->results;
  return std::any_of(results.begin(), results.end(), [&](const api::DeviceRequestAllocationResult& result) {
    return result.driver == driver && result.pool == pool && devices.count(result.device) > 0;
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
  const Seen now{pool->generation, pool->state};
  if (last != seen_.end() && last->second == now) return false;
  seen_[name] = now;
  return true;
}

std::vector<const api::ResourceClaim*> SliceChanges::concerned(const View& view, const inventory::Inventory& inventory,
                                                               const api::ResourceSlice* before,
                                                               const api::ResourceSlice* after, Fact fact) {
  const bool moved = before && after && (before->driver != after->driver || before->pool.name != after->pool.name);
  if (moved) {
    std::vector<const api::ResourceClaim*> found = concerned(view, inventory, before, nullptr, fact);
    for (const api::ResourceClaim* claim : concerned(view, inventory, nullptr, after, fact))
      if (std::find(found.begin(), found.end(), claim) == found.end()) found.push_back(claim);
    return found;
  }
  const api::ResourceSlice& slice = after ? *after : *before;
  if (pool_changed(inventory, {slice.driver, slice.pool.name}))
    return view.claims_on_pool(slice.driver, slice.pool.name);
  const Facts old_facts = facts_of(before, fact), new_facts = facts_of(after, fact);
  const std::set<std::string_view> devices = changed(old_facts, new_facts);
  if (devices.empty()) return {};
  std::vector<const api::ResourceClaim*> found = view.claims_on_pool(slice.driver, slice.pool.name);
  std::erase_if(found,
                [&](const api::ResourceClaim* claim) { return !uses(*claim, slice.driver, slice.pool.name, devices); });
  return found;
}

}  // namespace dra::reconcile
