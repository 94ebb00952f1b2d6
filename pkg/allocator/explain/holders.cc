#include "pkg/allocator/explain/holders.h"

#include <algorithm>
#include <functional>

namespace dra::allocator {

void HolderCounts::add(CauseCount* count, Cause cause, const inventory::Pool& pool, uint32_t device) {
  if (cause == Cause::kInUse ? ++looks_ > kMostLooks : ++counter_looks_ > kMostCounterLooks) {
    count->holders_sampled = true;
    return;
  }
  if (cause == Cause::kInUse) return add_holders(count, pool, device);
  // Devices that are held and use a counter that this one uses.
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
  const size_t examined = std::min(held->second.size(), kMostOfDevice);
  for (size_t i = 0; i < examined; ++i) held_.push_back({count, held->second[i].claim});
  count->holders_sampled = count->holders_sampled || examined < held->second.size();
}

void HolderCounts::finish() {
  struct Tally {
    inventory::ClaimIndex claim = 0;
    uint32_t devices = 0;
  };
  std::stable_sort(held_.begin(), held_.end(), [](const Held& a, const Held& b) {
    return a.count != b.count ? std::less<>()(a.count, b.count) : a.claim < b.claim;
  });
  std::vector<Tally> order;
  for (size_t at = 0; at < held_.size();) {
    CauseCount* const count = held_[at].count;
    order.clear();
    for (; at < held_.size() && held_[at].count == count; ++at) {
      if (order.empty() || order.back().claim != held_[at].claim) order.push_back({held_[at].claim, 0});
      ++order.back().devices;
    }
    std::stable_sort(order.begin(), order.end(), [](const Tally& a, const Tally& b) { return a.devices > b.devices; });
    for (const Tally& tally : order) {
      if (count->holders.size() == kMaxHolders) break;
      count->holders.push_back({device_index_.claim(tally.claim).uid, tally.devices});
    }
    count->more_holders = static_cast<uint32_t>(order.size() - count->holders.size());
  }
}

}  // namespace dra::allocator
