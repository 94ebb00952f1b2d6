// Fragmentation by hand: what one node can give, what it could give if all that is held were packed. Random worlds are
// in pkg/inspect/verbs/fragmentation_test.cc, against a twin and against the allocator.
#include "pkg/usage/fragmentation.h"

#include <gtest/gtest.h>

#include "pkg/inventory/bits.h"
#include "pkg/inventory/inventory.h"
#include "pkg/inventory/pool.h"

namespace dra::usage::fragmentation_test {
namespace {

constexpr int kSlices = 4;

// A card of four slices on the node, as a whole, two halves and four quarters: "half-2" begins at slice 2.
void publish_card(inventory::Inventory& inventory, const std::string& node) {
  api::ResourceSlice counters, devices;
  counters.metadata.name = node + "-counters";
  devices.metadata.name = node + "-devices";
  for (api::ResourceSlice* slice : {&counters, &devices}) {
    slice->driver = "gpu.example.com";
    slice->pool = {node, 1, 2};
    slice->node_name = node;
  }
  api::CounterSet& card = counters.shared_counters.emplace_back();
  card.name = "card";
  for (int i = 0; i < kSlices; ++i) card.counters["slice-" + std::to_string(i)] = "1";
  for (const auto& [name, size] : {std::pair{"whole", 4}, {"half", 2}, {"quarter", 1}})
    for (int first = 0; first < kSlices; first += size) {
      api::Device& device = devices.devices.emplace_back();
      device.name = std::string(name) + "-" + std::to_string(first);
      api::DeviceCounterConsumption& use = device.consumes_counters.emplace_back();
      use.counter_set = "card";
      for (int i = first; i < first + size; ++i) use.counters["slice-" + std::to_string(i)] = "1";
    }
  inventory.apply_slice(counters);
  inventory.apply_slice(devices);
}

void publish_wholes(inventory::Inventory& inventory, const std::string& node, int count) {
  api::ResourceSlice slice;
  slice.metadata.name = node + "-wholes";
  slice.driver = "gpu.example.com";
  slice.pool = {node, 1, 1};
  slice.node_name = node;
  for (int i = 0; i < count; ++i) slice.devices.emplace_back().name = "whole-" + std::to_string(i);
  inventory.apply_slice(slice);
}

void hold(inventory::Inventory& inventory, const std::string& node, const std::string& device) {
  api::AllocationResult allocation;
  allocation.results.push_back({"r", "gpu.example.com", node, device});
  inventory.apply_allocation("claim-" + node + "-" + device, allocation);
}

// Of the devices whose names begin so.
ClassFragmentation fragmentation_of(const inventory::Inventory& inventory, const std::string& kind) {
  const inventory::DeviceIndex& index = inventory.device_index();
  Packings packings;
  Fragmentation counts(index, packings);
  for (inventory::PoolId id = 0; id < index.pool_slots(); ++id) {
    const inventory::Pool* pool = index.pool(id);
    if (pool == nullptr) continue;
    inventory::Words usable(pool->words(), 0);
    for (uint32_t device = 0; device < pool->size(); ++device)
      inventory::assign_bit(usable.data(), device, index.strings().text(pool->device_name(device)).starts_with(kind));
    counts.add(*pool, usable.data());
  }
  return counts.found();
}

// Two cards, three quarters held: five slices are free, and no half but that of n1 is whole.
TEST(Fragmentation, OfTwoCardsByHand) {
  inventory::Inventory inventory;
  publish_card(inventory, "n0");
  publish_card(inventory, "n1");
  hold(inventory, "n0", "quarter-0");
  hold(inventory, "n0", "quarter-2");
  hold(inventory, "n1", "quarter-1");
  const ClassFragmentation half = fragmentation_of(inventory, "half");
  EXPECT_EQ(half.largest, 1u);
  EXPECT_EQ(half.node, "n1");
  EXPECT_EQ(half.on_empty, 2u);
  EXPECT_EQ(half.free, 2u) << "5 slices / 2";
  EXPECT_EQ(half.if_packed(), 2u);
  EXPECT_EQ(half.lost(), 1u);
  const ClassFragmentation whole = fragmentation_of(inventory, "whole");
  EXPECT_EQ(whole.largest, 0u);
  EXPECT_EQ(whole.node, "");
  EXPECT_EQ(whole.on_empty, 1u);
  EXPECT_EQ(whole.free, 1u) << "5 slices / 4";
  EXPECT_EQ(whole.lost(), 1u);
  const ClassFragmentation quarter = fragmentation_of(inventory, "quarter");
  EXPECT_EQ(quarter.largest, 3u);
  EXPECT_EQ(quarter.node, "n1");
  EXPECT_EQ(quarter.on_empty, 4u);
  EXPECT_EQ(quarter.free, 5u);
  EXPECT_EQ(quarter.if_packed(), 4u) << "a node has four";
  EXPECT_TRUE(quarter.exact);
}

// 8 and 4 GPUs, of which 4 and 2 are held: the 6 free ones could be 6 on the larger node.
TEST(Fragmentation, OfWholeDevicesByHand) {
  inventory::Inventory inventory;
  publish_wholes(inventory, "big", 8);
  publish_wholes(inventory, "small", 4);
  for (int i = 0; i < 4; ++i) hold(inventory, "big", "whole-" + std::to_string(i));
  for (int i = 0; i < 2; ++i) hold(inventory, "small", "whole-" + std::to_string(i));
  const ClassFragmentation found = fragmentation_of(inventory, "whole");
  EXPECT_EQ(found.largest, 4u);
  EXPECT_EQ(found.node, "big");
  EXPECT_EQ(found.on_empty, 8u);
  EXPECT_EQ(found.free, 6u);
  EXPECT_EQ(found.lost(), 2u);
}

TEST(Fragmentation, ARequestAsksForThirtyTwoAtMost) {
  inventory::Inventory inventory;
  publish_wholes(inventory, "n", 40);
  const ClassFragmentation found = fragmentation_of(inventory, "whole");
  EXPECT_EQ(found.largest, 32u);
  EXPECT_EQ(found.free, 40u);
  EXPECT_EQ(found.lost(), 0u);
}

TEST(Fragmentation, IncompletePoolsGiveNothing) {
  inventory::Inventory inventory;
  publish_card(inventory, "n");
  inventory.remove_slice("n-counters");
  const ClassFragmentation found = fragmentation_of(inventory, "whole");
  EXPECT_EQ(found.on_empty, 0u);
  EXPECT_EQ(found.free, 0u);
}

TEST(Packings, SaysWhereItEnds) {
  Packings packings;
  // The more a device takes of one counter, the less of the other: too many sets to try them all.
  std::vector<Takes> devices;
  for (uint32_t i = 0; i < 60; ++i) devices.push_back({{0, 1000 + 37 * i}, {1, 5000 - 41 * i}});
  const Packed hard = packings.most(devices, {40'000, 90'000});
  EXPECT_FALSE(hard.exact);
  EXPECT_GE(hard.count, 10u);
  EXPECT_LE(packings.steps(), Packings::kMaxSteps + devices.size());
  const uint64_t steps = packings.steps();
  EXPECT_EQ(packings.most(devices, {40'000, 90'000}).count, hard.count);
  EXPECT_EQ(packings.steps(), steps) << "known";
}

}  // namespace
}  // namespace dra::usage::fragmentation_test
