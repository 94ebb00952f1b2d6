#include "pkg/allocator/holders.h"

#include <algorithm>

namespace dra::allocator {

void HolderCounts::add(CauseCount* count, Cause cause, const inventory::Pool& pool, uint32_t device) {
  if (cause == Cause::kInUse ? ++looks_ > kMostLooks : ++counter_looks_ > kMostCounterLooks) {
    count->holders_sampled = true;
    return;
  }
  if (cause == Cause::kInUse) return add_holders(count, pool, device);
  // Devices that are held and draw on a counter that this one draws on.
  for (uint32_t other = 0; other < pool.size(); ++other) {
    if (other == device || !inventory::test_bit(pool.charged(), other)) continue;
    const bool shares =
        std::any_of(pool.uses_begin(other), pool.uses_end(other), [&](const inventory::CounterUse& theirs) {
          return std::any_of(pool.uses_begin(device), pool.uses_end(device),
                             [&](const inventory::CounterUse& ours) { return ours.counter == theirs.counter; });
        });
    if (shares) add_holders(count, pool, other);
  }
}

void HolderCounts::add_holders(CauseCount* count, const inventory::Pool& pool, uint32_t device) {
  const auto held = pool.holders.find(pool.device_name(device));
  if (held == pool.holders.end()) return;
  for (const inventory::HolderRef& holder : held->second) {
    Tally& tally = by_count_[count][holder.claim];
    tally.pool = &pool;
    ++tally.devices;
  }
}

void HolderCounts::finish() {
  for (auto& [count, tallies] : by_count_) {
    std::vector<std::pair<inventory::ClaimIndex, Tally>> order(tallies.begin(), tallies.end());
    std::stable_sort(order.begin(), order.end(),
                     [](const auto& a, const auto& b) { return a.second.devices > b.second.devices; });
    for (const auto& [claim, tally] : order) {
      if (count->holders.size() == kMaxHolders) break;
      count->holders.push_back({core_.claim(claim).uid, tally.pool->driver_text, tally.pool->name_text, tally.devices});
    }
    count->more_holders = static_cast<uint32_t>(order.size() - count->holders.size());
  }
}

}  // namespace dra::allocator
