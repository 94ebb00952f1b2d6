#include "pkg/allocator/explain/holders.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <string>

namespace dra::allocator {

bool HolderCounts::may_look(CauseCount* count, Cause cause) {
  const bool may = cause == Cause::kInUse
                       ? ++looks_ <= kMostLooks
                       : looks_of_[count] < kMostCounterLooks && counter_looks_ < kMostCounterLooksInAll;
  if (!may) count->holders_sampled = true;
  if (may && cause != Cause::kInUse) {
    ++looks_of_[count];
    ++counter_looks_;
  }
  return may;
}

void HolderCounts::add(CauseCount* count, Cause cause, const inventory::Pool& pool, uint32_t device) {
  if (!may_look(count, cause)) return;
  if (cause == Cause::kInUse) return add_holders(count, pool, device);
  // Devices that are held and use a counter that this one is short of. Who takes only of counters that have enough left
  // is not in its way.
  std::vector<uint32_t> missing;
  for (const inventory::CounterUse* use = pool.uses_begin(device); use != pool.uses_end(device); ++use) {
    const inventory::Counter& counter = pool.counters()[use->counter];
    if (counter.total - counter.consumed < use->amount) missing.push_back(use->counter);
  }
  for (uint32_t other = 0; other < pool.size() && !missing.empty(); ++other) {
    if (other == device || !inventory::test_bit(pool.charged(), other)) continue;
    const bool takes_of_it =
        std::any_of(pool.uses_begin(other), pool.uses_end(other), [&](const inventory::CounterUse& theirs) {
          return std::find(missing.begin(), missing.end(), theirs.counter) != missing.end();
        });
    if (takes_of_it) add_holders(count, pool, other);
  }
}

void HolderCounts::add_short(const DeviceCounts& device_counts, const DeviceJudge& judge,
                             std::vector<CauseCount>& counts) {
  size_t seen = 0;
  for (inventory::PoolId id = 0; id < device_counts.pools().size(); ++id) {
    const inventory::Words& mask = device_counts.pools()[id].short_mask;
    for (size_t w = 0; w < mask.size(); ++w)
      for (uint64_t bits = mask[w]; bits != 0; bits &= bits - 1) {
        const inventory::Pool& pool = *device_index_.pool(id);
        const uint32_t device = static_cast<uint32_t>(64 * w) + static_cast<uint32_t>(std::countr_zero(bits));
        const bool ends = ++seen > kMostLooks;
        const std::string counter = ends ? "" : judge.name_of_short_counter(pool, device);
        for (CauseCount& count : counts) {
          if (count.cause != Cause::kCounterShort) continue;
          if (ends)
            count.holders_sampled = true;
          else if (count.detail == counter)
            add(&count, count.cause, pool, device);
        }
        if (ends) return;
      }
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
