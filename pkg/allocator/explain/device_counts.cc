#include "pkg/allocator/explain/device_counts.h"

#include <algorithm>

namespace dra::allocator {

using inventory::Pool;
using inventory::PoolId;

bool DeviceCounts::update(inventory::DeviceIndex& device_index, DeviceJudge& judge, Meter& meter) {
  const bool lost = !begun_ || seen_ < device_index.changes_begin();
  if (lost) {
    groups_.clear();
    index_.clear();
    drivers_.clear();
    pools_.assign(device_index.pool_slots(), {});
    pools_with_usable_.clear();
    in_use.reset();
    driver_of_.assign(device_index.pool_slots(), "");
    devices_ = 0;
    pending_.clear();
    for (PoolId id = 0; id < device_index.pool_slots(); ++id) pending_.push_back(id);
    std::reverse(pending_.begin(), pending_.end());  // taken from the end
  } else {
    for (uint64_t at = seen_; at < device_index.changes_end(); ++at) {
      const PoolId id = device_index.change(at);
      for (auto fresh = static_cast<PoolId>(pools_.size()); fresh <= id; ++fresh) pending_.push_back(fresh);
      if (id >= pools_.size()) {
        pools_.resize(id + 1);
        driver_of_.resize(id + 1);
      }
      if (pools_[id].known) pending_.push_back(id);  // else it is already pending
      forget(id);
    }
  }
  begun_ = true;
  seen_ = device_index.changes_end();
  while (!pending_.empty()) {
    const PoolId id = pending_.back();
    if (!pools_[id].known && !count(device_index, judge, meter, id)) return false;
    pending_.pop_back();
  }
  return true;
}

void DeviceCounts::forget(PoolId id) {
  if (in_use && id <= in_use->last) in_use.reset();
  PoolTally& tally = pools_[id];
  for (const auto& [group, devices] : tally.counts) {
    groups_[group].devices -= devices;
    devices_ -= devices;
  }
  if (!driver_of_[id].empty()) {
    const auto driver = drivers_.find(driver_of_[id]);
    if (driver != drivers_.end() && --driver->second == 0) drivers_.erase(driver);
    driver_of_[id].clear();
  }
  if (tally.usable > 0) inventory::clear_bit(pools_with_usable_.data(), id);
  tally = {};
}

bool DeviceCounts::count(inventory::DeviceIndex& device_index, DeviceJudge& judge, Meter& meter, PoolId id) {
  const Pool* pool = device_index.pool(id);
  PoolTally& tally = pools_[id];
  const uint32_t size = pool == nullptr ? 0 : pool->size();
  if (size > 0 && tally.next == 0 && pool->local_node != inventory::kNoStr && !pool->wide)
    tally.node = device_index.find_node(pool->local_node_text);
  while (tally.next < size) {
    if (tally.next % 8 == 7) meter.charge(1);
    // Not even one more device: a claim may have hundreds of alternatives, and a selector may take 20 ms.
    if (meter.stopped()) return false;
    const DeviceCause cause = judge.alone(filter_, admin_, *pool, tally.next);
    add(*pool, tally, cause);
    ++tally.next;
  }
  tally.known = true;
  return true;
}

void DeviceCounts::add(const Pool& pool, PoolTally& tally, const DeviceCause& cause) {
  const auto mark = [&](inventory::Words& mask) {
    mask.resize(pool.words(), 0);
    inventory::set_bit(mask.data(), tally.next);
  };
  const uint16_t group = group_of(cause);
  const auto known =
      std::find_if(tally.counts.begin(), tally.counts.end(), [&](const auto& count) { return count.first == group; });
  if (known == tally.counts.end())
    tally.counts.emplace_back(group, 1);
  else
    ++known->second;
  ++groups_[group].devices;
  groups_[group].pool = pool.id;
  ++devices_;
  if (cause.cause != Cause::kClassSelector && driver_of_[pool.id].empty()) {
    driver_of_[pool.id] = pool.driver_text;
    ++drivers_[pool.driver_text];
  }
  if (cause.cause == Cause::kCombination) {
    mark(tally.usable_mask);
    if (tally.usable++ == 0) {
      pools_with_usable_.resize(std::max<size_t>(pools_with_usable_.size(), pool.id / 64 + 1), 0);
      inventory::set_bit(pools_with_usable_.data(), pool.id);
    }
  } else if (cause.cause == Cause::kInUse) {
    mark(tally.held_mask);
  } else if (cause.cause == Cause::kCounterShort) {
    mark(tally.short_mask);
  }
}

uint16_t DeviceCounts::group_of(const DeviceCause& cause) {
  const auto [known, fresh] = index_.try_emplace({cause.cause, cause.index, cause.detail}, 0);
  if (!fresh) return known->second;
  if (groups_.size() >= kMaxGroups) {
    index_.erase(known);
    // Prefer a group of the same cause, so that no device is counted under a wrong cause.
    for (size_t i = groups_.size(); i-- > 0;)
      if (groups_[i].cause.cause == cause.cause) return static_cast<uint16_t>(i);
  }
  groups_.push_back({cause, 0, 0});
  const auto number = static_cast<uint16_t>(groups_.size() - 1);
  if (groups_.size() <= kMaxGroups) index_[{cause.cause, cause.index, cause.detail}] = number;
  return number;
}

std::shared_ptr<DeviceCounts> DeviceCountsByFilter::of(FilterId filter, bool admin) {
  std::shared_ptr<DeviceCounts>& device_counts = all_[{filter, admin}];
  if (!device_counts) device_counts = std::make_shared<DeviceCounts>(filter, admin);
  device_counts->last_used_ = ++clock_;
  std::shared_ptr<DeviceCounts> wanted = device_counts;
  size_t bytes = 0;
  for (const auto& [key, one] : all_) bytes += one->bytes();
  while (bytes > kMaxBytes && all_.size() > 1) {
    const auto oldest = std::min_element(all_.begin(), all_.end(), [](const auto& a, const auto& b) {
      return a.second->last_used_ < b.second->last_used_;
    });
    bytes -= oldest->second->bytes();
    all_.erase(oldest);
  }
  return wanted;
}

}  // namespace dra::allocator
