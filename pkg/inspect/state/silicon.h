// Silicon: which devices are parts of one card. A whole GPU and its partitions draw on the same shared counters; by
// name they are many devices, in the machine they are one.
//
//   Silicon silicon(slices_by_pool(objects).at({driver, pool}));
//   silicon.excluded_by("gpu-0");   // its partitions: none of them can be in use together with it
//
// Rules: resource.k8s.io/v1 DeviceCounterConsumption (KEP-4815). Devices of different pools never share counters. What
// drivers say about silicon in attributes alone (parentUUID, pciBusID) is not used. Pure.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "pkg/api/resource.h"
#include "pkg/inspect/state/objects.h"
#include "pkg/inventory/amount.h"
#include "pkg/inventory/device.h"

namespace dra::inspect {

using CounterName = std::pair<std::string, std::string>;  // set, counter
using CounterAmounts = std::map<CounterName, inventory::Amount>;

// What an allocation of the device takes; amounts of zero are left out.
CounterAmounts counter_use(const api::Device& device);
// What the pool's slices publish.
CounterAmounts counter_totals(const std::vector<const api::ResourceSlice*>& slices);

// NoExecute and NoSchedule do, but NoSchedule not with an ignored key.
bool keeps_claims_away(const api::DeviceTaint& taint, const std::vector<std::string>& ignored_taints);
// Not held exclusively, its counters fit, and no taint keeps claims away from it.
bool may_be_had(const inventory::DeviceInfo& device, const std::vector<std::string>& ignored_taints = {});

// The devices of one pool. `slices` (those of its generation) must outlive it.
class Silicon {
 public:
  explicit Silicon(const std::vector<const api::ResourceSlice*>& slices);

  // The other devices that cannot be in use together with the device, because both need more of one counter than there
  // is: for a GPU all of its partitions; for a partition the GPU and the partitions that overlap it. In the order of
  // the slices; empty if nothing of that name is published.
  std::vector<std::string> excluded_by(const std::string& device) const;
  // Of those, the ones that take nothing which the device does not take, too: for a GPU all of its partitions.
  std::vector<std::string> parts_of(const std::string& device) const;

 private:
  struct Draw {
    const std::string* name;
    CounterAmounts use;
  };
  const Draw* find(const std::string& device) const;
  bool exclude(const CounterAmounts& one, const CounterAmounts& other) const;

  CounterAmounts totals_;
  std::vector<Draw> draws_;  // devices that draw on counters
};

// Silicon::excluded_by() for a device of the pool.
std::vector<std::string> on_same_silicon(const Objects& objects, const std::string& driver, const std::string& pool,
                                         const std::string& device);

// The devices of one card: all that draw on the same counter set, or one that draws on none.
struct Card {
  std::vector<const api::Device*> devices;
  CounterAmounts most;  // of each counter, what the most demanding device takes
};
// `devices` are those of State::inventory; others of the slices are left out. In the order of the slices.
std::vector<Card> cards_of(const std::vector<const api::ResourceSlice*>& slices,
                           const std::vector<inventory::DeviceInfo>& devices);

// Each card is in one state, so total = whole + cut + free + bad.
struct CardCounts {
  uint32_t total = 0;
  uint32_t whole = 0;  // in use as a whole
  uint32_t cut = 0;    // in use in parts: partitions, or shares of a shared device
  uint32_t free = 0;   // not in use, and can be had as a whole now
  uint32_t bad = 0;    // not in use, and cannot: tainted, refused, or in a pool that is not complete
  CardCounts& operator+=(const CardCounts& more);
  bool operator==(const CardCounts&) const = default;
};
// `usable`: devices of the pool can be allocated.
CardCounts count_cards(const std::vector<Card>& cards, const std::vector<inventory::DeviceInfo>& devices, bool usable,
                       const std::vector<std::string>& ignored_taints);

}  // namespace dra::inspect
