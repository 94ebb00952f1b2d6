// Worlds for the tests of this package: cards with counters, of which partitions are published.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "pkg/api/resource.h"
#include "pkg/inventory/inventory.h"

namespace dra::usage {

struct PartitionedCard {
  std::vector<std::pair<std::string, std::string>> counters;                                      // name, total
  std::vector<std::pair<std::string, std::vector<std::pair<std::string, std::string>>>> devices;  // name, what it takes
};

// Pool "pool" of driver "gpu.example.com" with these cards; their sets are "card-0", "card-1", ...
inline void publish(inventory::Inventory& inventory, const std::vector<PartitionedCard>& cards) {
  api::ResourceSlice counters, devices;
  for (api::ResourceSlice* slice : {&counters, &devices}) {
    slice->driver = "gpu.example.com";
    slice->pool = {"pool", 1, 2};
    slice->node_name = "node";
  }
  counters.metadata.name = "a-counters";
  devices.metadata.name = "b-devices";
  for (size_t card = 0; card < cards.size(); ++card) {
    const std::string set = "card-" + std::to_string(card);
    api::CounterSet published{set, {}};
    for (const auto& [name, total] : cards[card].counters) published.counters[name] = total;
    counters.shared_counters.push_back(published);
    for (const auto& [name, taken] : cards[card].devices) {
      api::Device device;
      device.name = name;
      api::DeviceCounterConsumption consumption;
      consumption.counter_set = set;
      for (const auto& [counter, amount] : taken) consumption.counters[counter] = amount;
      device.consumes_counters.push_back(consumption);
      devices.devices.push_back(device);
    }
  }
  inventory.apply_slice(counters);
  inventory.apply_slice(devices);
}

inline api::DeviceRequestAllocationResult result_of(const std::string& device) {
  api::DeviceRequestAllocationResult result;
  result.request = "gpu";
  result.driver = "gpu.example.com";
  result.pool = "pool";
  result.device = device;
  return result;
}

}  // namespace dra::usage
