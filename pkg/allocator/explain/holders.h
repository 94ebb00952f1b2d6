// HolderCounts: the claims that hold the devices of a cause, or consume their counters. Internal to explain.cc.
#pragma once

#include <vector>

#include "pkg/allocator/reasons.h"
#include "pkg/inventory/device_index.h"

namespace dra::allocator {

class HolderCounts {
 public:
  explicit HolderCounts(const inventory::DeviceIndex& device_index) : device_index_(device_index) {}

  // `count` must stay valid until finish(). Examines only the first kMostLooks devices, and kMostOfDevice of their
  // holders.
  void add(CauseCount* count, Cause cause, const inventory::Pool& pool, uint32_t device);
  // Writes the holders into the counts, most devices first.
  void finish();

 private:
  static constexpr size_t kMostLooks = 256;
  static constexpr size_t kMostOfDevice = 64;
  static constexpr size_t kMostCounterLooks = 8;  // each visits all devices of the pool
  // One device of one claim; finish() sorts and sums them, which is cheaper than a map for each device.
  struct Held {
    CauseCount* count = nullptr;
    inventory::ClaimIndex claim = 0;
  };

  void add_holders(CauseCount* count, const inventory::Pool& pool, uint32_t device);

  const inventory::DeviceIndex& device_index_;
  std::vector<Held> held_;
  size_t looks_ = 0, counter_looks_ = 0;
};

}  // namespace dra::allocator
