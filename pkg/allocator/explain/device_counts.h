// DeviceCounts: how many devices of the fleet each cause excludes for one filter, kept up to date from the inventory's
// change log. Without them an explanation would visit every device again for each refused pod.
//
// Counting a pool visits its devices once (DeviceJudge) and stops when the meter's slice ends; the next call continues.
// Does not cover constraints between devices, nor the nodes that a pod can go to.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "pkg/allocator/budget/meter.h"
#include "pkg/allocator/explain/device_cause.h"

namespace dra::allocator {

class DeviceCounts {
 public:
  // Causes beyond this number (mostly error texts) are counted as the last one of the same kind.
  static constexpr size_t kMaxGroups = 512;

  struct Group {
    DeviceCause cause;
    uint32_t devices = 0;
    inventory::PoolId pool = 0;  // where one was last found
  };
  // One pool, with the masks that an explanation needs; a mask without devices is empty.
  struct PoolTally {
    bool known = false;  // counted completely
    uint32_t next = 0;   // the first device not yet counted
    uint32_t usable = 0;
    inventory::NodeId node = inventory::kNone;          // the node of all its devices; kNone: no such node
    std::vector<std::pair<uint16_t, uint32_t>> counts;  // group, devices
    inventory::Words usable_mask, held_mask, short_mask;
  };

  // The holders of devices in use, found in the pools up to `last`: visiting a few hundred holders again for each pod
  // costs more than everything else. Dropped when one of these pools changes.
  struct HolderSample {
    inventory::PoolId last;  // kNone: the sample is complete, so any changed pool may add to it
    CauseCount count;        // only its holders matter
  };
  std::optional<HolderSample> in_use;

  DeviceCounts(FilterId filter, bool admin) : filter_(filter), admin_(admin) {}

  // Follows the change log and counts what is not counted yet. False: the slice ended first; the counts so far are
  // valid anyway.
  bool update(inventory::DeviceIndex& device_index, DeviceJudge& judge, Meter& meter);

  const std::vector<Group>& groups() const { return groups_; }
  // By PoolId; a pool that is not known may be partly counted.
  const std::vector<PoolTally>& pools() const { return pools_; }
  uint32_t devices() const { return devices_; }  // counted
  // One bit per PoolId: pools with a usable device. A fleet with nothing left has few.
  const inventory::Words& pools_with_usable() const { return pools_with_usable_; }
  // The drivers with a device that the class selects.
  const std::map<std::string, uint32_t, std::less<>>& drivers() const { return drivers_; }
  size_t bytes() const { return pools_.size() * 128 + groups_.size() * 128; }

 private:
  friend class DeviceCountsByFilter;
  void forget(inventory::PoolId id);
  bool count(inventory::DeviceIndex& device_index, DeviceJudge& judge, Meter& meter, inventory::PoolId id);
  void add(const inventory::Pool& pool, PoolTally& tally, const DeviceCause& cause);
  uint16_t group_of(const DeviceCause& cause);

  const FilterId filter_;
  const bool admin_;
  std::vector<Group> groups_;
  std::map<std::tuple<Cause, int, std::string>, uint16_t> index_;
  std::vector<PoolTally> pools_;
  inventory::Words pools_with_usable_;
  std::vector<std::string> driver_of_;  // by PoolId, for pools with selected devices
  std::map<std::string, uint32_t, std::less<>> drivers_;
  std::vector<inventory::PoolId> pending_;
  uint32_t devices_ = 0;
  uint64_t seen_ = 0;  // position in the change log
  bool begun_ = false;
  uint64_t last_used_ = 0;
};

// The device counts of the most recently explained filters.
class DeviceCountsByFilter {
 public:
  static constexpr size_t kMaxBytes = 3u << 20;

  // Drops the least recently used beyond kMaxBytes.
  std::shared_ptr<DeviceCounts> of(FilterId filter, bool admin);
  void clear() { all_.clear(); }
  size_t size() const { return all_.size(); }

 private:
  std::map<std::pair<FilterId, bool>, std::shared_ptr<DeviceCounts>> all_;
  uint64_t clock_ = 0;
};

}  // namespace dra::allocator
