// PoolValues: the value of each pool's devices, and what taking one of them would lose, cached until the pool
// changes.
//
//   PoolValues values(device_index);
//   values.follow();                                   // once per decision: drops what changed since
//   const PoolValue& pool = values.of(id);
//   pool.devices[d].free                               // hundredths of a device that can be shared
//   pool.devices[d].lost                               // by taking it, for a device that uses counters
//
// A group is a set of devices that share counters (the partitions of one GPU). Every available device of it is worth
// its part of the group's counters; taking one loses those that no longer fit ("least broken"). A shareable device is
// priced by its free rest (pkg/strategy). Any other is worth a whole device.
//
// One thread. Reads the inventory's change log, so work is proportional to the change: taking a device costs one visit
// to its pool's devices, and its group's devices squared.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "pkg/inventory/device_index.h"
#include "pkg/strategy/prices.h"

namespace dra::allocator {

struct DeviceValue {
  uint32_t group = inventory::kNone;  // of devices that use counters
  bool shareable = false;
  bool one_capacity = false;
  bool whole = false;      // nothing of it, or of its group, is in use
  int64_t free_ppm = 0;    // of its scarcest capacity, in millionths; 0: unavailable
  int64_t lost = 0;        // in a group: by taking it, in millionths of a whole device
  int64_t units_ppm = 0;   // of a whole device, as far as CPU of the node is needed with it
  int64_t size = 0;        // grows with its capacities; comparable among devices of one kind
  uint32_t name_rank = 0;  // by name within the pool
};

struct GroupValue {
  std::vector<uint32_t> devices;        // ascending
  std::vector<uint32_t> counters;       // of the pool
  std::vector<inventory::Amount> left;  // of the counters, when `lost` was computed
  std::vector<int64_t> weights;         // of the devices
  int64_t total = 0;                    // of the weights
  int64_t free_ppm = 0;                 // of its counters on average
  bool whole = false;
};

struct PoolValue {
  std::vector<DeviceValue> devices;
  std::vector<GroupValue> groups;
  uint32_t kind = 0;   // of its driver, for pkg/strategy's RequestMix
  bool local = false;  // to one node
  uint64_t table_version = 0;
  bool current = false;
  // Totals over all devices without a group, and over groups.
  int64_t free_ppm = 0;
  uint32_t whole = 0;
  int64_t tight_ppm = 0;  // free capacity in devices and groups that are in use
};

class PoolValues {
 public:
  explicit PoolValues(const inventory::DeviceIndex& device_index) : device_index_(device_index) {}

  void follow();
  // Valid until follow().
  const PoolValue& of(inventory::PoolId id);
  // What the devices `taken` (of one group) lose together, at present.
  static int64_t lost_by(const inventory::Pool& pool, const GroupValue& group, const std::vector<uint32_t>& taken);
  // Whether the device's counters fit together with those of `taken`.
  static bool fits_beside(const inventory::Pool& pool, uint32_t device, const std::vector<uint32_t>& taken);
  void clear() { pools_.clear(); }
  // Drivers are numbered in the order in which they are first seen.
  uint32_t kind_of(const std::string& driver);

 private:
  void lay_out(const inventory::Pool& pool, PoolValue& value);
  static void make_groups(const inventory::Pool& pool, PoolValue& value);
  static void refresh(const inventory::Pool& pool, PoolValue& value);
  static void refresh_group(const inventory::Pool& pool, GroupValue& group, PoolValue& value);

  const inventory::DeviceIndex& device_index_;
  std::vector<std::unique_ptr<PoolValue>> pools_;
  std::unordered_map<std::string, uint32_t> kinds_;
  uint64_t seen_ = 0;
};

}  // namespace dra::allocator
