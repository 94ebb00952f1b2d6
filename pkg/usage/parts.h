// Parts: how much of a card one allocated device is.
//
// A card is one counter set of a pool (a GPU of which partitions are published), or a device that draws on no counters.
//
//   Weigher weigher(inventory.device_index());
//   DeviceParts parts = weigher.weigh(result, "");   // of one entry of status.allocation.devices.results
//
// The weight of a partition is the mean, over the counters of its set, of consumed / total; counters of which it takes
// nothing count as 0. `counter` names one counter (or capacity) that counts alone, where the set has it. A device that
// several claims share counts by the mean over its capacities of consumed / total. Fractions are rounded down to
// 10^-9, so partitions of a card that fit together never sum to more than 1. A device that no slice publishes any more
// is not `known` and counts as a whole card.
//
// Not thread-safe: belongs to the thread of the inventory. A weigher keeps a few bytes for each counter of the pools
// that it was asked about.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "pkg/api/resource.h"
#include "pkg/inventory/device_index.h"

namespace dra::usage {

// A whole card, in the unit of weights.
inline constexpr int64_t kWholeCard = 1'000'000'000;

struct Part {
  std::string card;
  int64_t nanos = 0;  // kWholeCard: all of it
};

// A counter or a capacity by name, and what of it is taken, in cards.
struct Share {
  std::string name;
  int64_t nanos = 0;
};

struct DeviceParts {
  bool known = false;
  std::vector<Part> parts;  // one a card; none if the allocation has admin access, which holds nothing
  std::vector<Share> shares;
};

class Weigher {
 public:
  // The index must outlive it.
  explicit Weigher(const inventory::DeviceIndex& index) : index_(index) {}

  DeviceParts weigh(const api::DeviceRequestAllocationResult& result, std::string_view counter);

 private:
  struct Sets {
    uint64_t table_version = 0;
    std::unordered_map<inventory::StrId, std::vector<inventory::StrId>> counters;  // by set: those above zero
  };
  const Sets& sets_of(const inventory::Pool& pool);
  void weigh_counters(const inventory::Pool& pool, uint32_t device, std::string_view counter, int64_t share,
                      DeviceParts& out);

  const inventory::DeviceIndex& index_;
  std::unordered_map<inventory::PoolId, Sets> pools_;
};

// Of the cards of this pool that are in use in part: how many cards' worth no free device can use any more. A lower
// bound: what is left of a counter counts as usable as long as the free devices that fit could take it together.
double cut_off(const inventory::Pool& pool);

}  // namespace dra::usage
