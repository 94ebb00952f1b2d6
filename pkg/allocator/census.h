// Census: per filter, how many devices of the fleet each cause keeps from it, kept up to date from the inventory's
// change log. Without it an explanation would look at every device again for each pod that is refused.
//
// Counting a pool looks at its devices once (DeviceJudge) and stops when the meter's slice ends; asking again goes on
// from there. Constraints between devices and the nodes that a pod can go to are not part of it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "pkg/allocator/device_cause.h"
#include "pkg/allocator/meter.h"

namespace dra::allocator {

class Census {
 public:
  // More different causes (mostly texts of errors) are counted as the last one.
  static constexpr size_t kMaxGroups = 512;

  struct Group {
    DeviceCause cause;
    uint32_t devices = 0;
    inventory::PoolId pool = 0;  // where one was found last
  };
  // One pool, by the masks that an explanation needs; all empty where no device is concerned.
  struct PoolTally {
    bool known = false;  // counted to its end
    uint32_t next = 0;   // the first device that is not counted
    uint32_t usable = 0;
    inventory::NodeId node = inventory::kNone;          // where all its devices are; kNone: there is no such node
    std::vector<std::pair<uint16_t, uint32_t>> counts;  // group, devices
    inventory::Words usable_mask, held_mask, short_mask;
  };

  // Who holds devices that are in use, as found in the pools up to `last`: looking at a few hundred holders again for
  // each pod costs more than all else. Dropped when one of these pools changes.
  struct HolderSample {
    inventory::PoolId last = 0;  // kNone: they are all, and whichever pool changes may have more
    CauseCount count;            // its holders alone
  };
  std::optional<HolderSample> in_use;

  Census(FilterId filter, bool admin) : filter_(filter), admin_(admin) {}

  // Follows the change log and counts what is not counted yet; false: the slice ended first, and what is counted is
  // right all the same.
  bool update(inventory::Core& core, DeviceJudge& judge, Meter& meter);

  const std::vector<Group>& groups() const { return groups_; }
  // By PoolId; of those that are not known some devices may be counted.
  const std::vector<PoolTally>& pools() const { return pools_; }
  uint32_t devices() const { return devices_; }  // counted
  // By PoolId, a bit each: pools with a usable device. In a fleet in which nothing is left there are few.
  const inventory::Words& pools_with_usable() const { return pools_with_usable_; }
  // The driver has a device that the class selects.
  const std::map<std::string, uint32_t, std::less<>>& drivers() const { return drivers_; }
  size_t bytes() const { return pools_.size() * 128 + groups_.size() * 128; }

 private:
  friend class Censuses;
  void forget(inventory::PoolId id);
  bool count(inventory::Core& core, DeviceJudge& judge, Meter& meter, inventory::PoolId id);
  void add(const inventory::Pool& pool, PoolTally& tally, const DeviceCause& cause);
  uint16_t group_of(const DeviceCause& cause);

  const FilterId filter_;
  const bool admin_;
  std::vector<Group> groups_;
  std::map<std::tuple<Cause, int, std::string>, uint16_t> index_;
  std::vector<PoolTally> pools_;
  inventory::Words pools_with_usable_;
  std::vector<std::string> driver_of_;  // by PoolId, of those with selected devices
  std::map<std::string, uint32_t, std::less<>> drivers_;
  std::vector<inventory::PoolId> pending_;
  uint32_t devices_ = 0;
  uint64_t seen_ = 0;  // position in the change log
  bool begun_ = false;
  uint64_t last_used_ = 0;
};

// The censuses of the filters that were explained last.
class Censuses {
 public:
  static constexpr size_t kMaxBytes = 3u << 20;

  // Drops those that were not used for longest beyond kMaxBytes.
  std::shared_ptr<Census> of(FilterId filter, bool admin);
  void clear() { all_.clear(); }
  size_t size() const { return all_.size(); }

 private:
  std::map<std::pair<FilterId, bool>, std::shared_ptr<Census>> all_;
  uint64_t clock_ = 0;
};

}  // namespace dra::allocator
