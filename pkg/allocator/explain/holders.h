// HolderCounts: the claims that hold the devices of a cause, or consume the counters that they are short of. Internal
// to explain.cc.
#pragma once

#include <map>
#include <vector>

#include "pkg/allocator/explain/device_cause.h"
#include "pkg/allocator/explain/device_counts.h"
#include "pkg/allocator/reasons.h"
#include "pkg/inventory/device_index.h"

namespace dra::allocator {

class HolderCounts {
 public:
  explicit HolderCounts(const inventory::DeviceIndex& device_index) : device_index_(device_index) {}

  // `count` must stay valid until finish(). Examines only the first kMostLooks devices, and kMostOfDevice of their
  // holders.
  void add(CauseCount* count, Cause cause, const inventory::Pool& pool, uint32_t device);
  // The same for devices that are short of a counter, each under the count of its counter.
  void add_short(const DeviceCounts& device_counts, const DeviceJudge& judge, std::vector<CauseCount>& counts);
  // Writes the holders into the counts, most devices first.
  void finish();

 private:
  static constexpr size_t kMostLooks = 256;
  static constexpr size_t kMostOfDevice = 64;
  // Each look visits all devices of the pool: so many for a count, and for all of them.
  static constexpr size_t kMostCounterLooks = 8, kMostCounterLooksInAll = 32;
  // One device of one claim; finish() sorts and sums them, which is cheaper than a map for each device.
  struct Held {
    CauseCount* count = nullptr;
    inventory::ClaimIndex claim = 0;
  };

  void add_holders(CauseCount* count, const inventory::Pool& pool, uint32_t device);
  bool may_look(CauseCount* count, Cause cause);

  const inventory::DeviceIndex& device_index_;
  std::vector<Held> held_;
  size_t looks_ = 0, counter_looks_ = 0;
  std::map<const CauseCount*, size_t> looks_of_;  // at counters
};

}  // namespace dra::allocator
