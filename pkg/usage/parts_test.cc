// Weights of partitions and shares, and what is cut off.
#include "pkg/usage/parts.h"

#include <gtest/gtest.h>

#include <cmath>

#include "pkg/base/random.h"
#include "pkg/inventory/device_index.h"
#include "pkg/inventory/pool.h"
#include "pkg/usage/usage_fixture.h"
#include "test/support/environment.h"

namespace dra::usage::parts_test {

using inventory::Inventory;

double weight(Inventory& inventory, const std::string& device, const std::string& counter = "") {
  Weigher weigher(inventory.device_index());
  const DeviceParts parts = weigher.weigh(result_of(device), counter);
  int64_t nanos = 0;
  for (const Part& part : parts.parts) nanos += part.nanos;
  return static_cast<double>(nanos) / kWholeCard;
}

void hold(Inventory& inventory, const std::string& uid, const std::string& device) {
  api::AllocationResult allocation;
  allocation.results = {result_of(device)};
  inventory.apply_allocation(uid, allocation);
}

// Half of the engines and a quarter of the memory.
std::vector<PartitionedCard> one_card() {
  return {{{{"memory", "80Gi"}, {"engines", "8"}, {"unused", "0"}},
           {{"whole", {{"memory", "80Gi"}, {"engines", "8"}}},
            {"part", {{"memory", "20Gi"}, {"engines", "4"}}},
            {"rest", {{"memory", "60Gi"}, {"engines", "4"}}},
            {"only-memory", {{"memory", "40Gi"}}}}}};
}

TEST(Parts, APartitionWeighsTheMeanOfTheCountersOfItsSet) {
  Inventory inventory;
  publish(inventory, one_card());
  EXPECT_DOUBLE_EQ(weight(inventory, "whole"), 1);
  EXPECT_DOUBLE_EQ(weight(inventory, "part"), 0.375);
  EXPECT_DOUBLE_EQ(weight(inventory, "rest"), 0.625);
  EXPECT_DOUBLE_EQ(weight(inventory, "only-memory"), 0.25) << "the engines count as 0";
  EXPECT_DOUBLE_EQ(weight(inventory, "part", "memory"), 0.25);
  EXPECT_DOUBLE_EQ(weight(inventory, "only-memory", "engines"), 0);
  EXPECT_DOUBLE_EQ(weight(inventory, "part", "no-such"), 0.375) << "a counter that the set has not changes nothing";
}

TEST(Parts, ADeviceThatIsNotPublishedIsACard) {
  Inventory inventory;
  publish(inventory, one_card());
  Weigher weigher(inventory.device_index());
  const DeviceParts gone = weigher.weigh(result_of("gone"), "");
  EXPECT_FALSE(gone.known);
  ASSERT_EQ(gone.parts.size(), 1u);
  EXPECT_EQ(gone.parts[0].nanos, kWholeCard);
  api::DeviceRequestAllocationResult admin = result_of("whole");
  admin.admin_access = true;
  EXPECT_TRUE(weigher.weigh(admin, "").parts.empty()) << "admin access holds nothing";
}

TEST(Parts, ASharedDeviceWeighsTheMeanOfItsCapacities) {
  Inventory inventory;
  api::ResourceSlice slice;
  slice.metadata.name = "s";
  slice.driver = "gpu.example.com";
  slice.pool = {"pool", 1, 1};
  slice.node_name = "node";
  api::Device device;
  device.name = "nic";
  device.allow_multiple_allocations = true;
  device.capacity["bandwidth"].value = "100G";
  device.capacity["queues"].value = "10";
  slice.devices = {device};
  inventory.apply_slice(slice);
  Weigher weigher(inventory.device_index());
  api::DeviceRequestAllocationResult result = result_of("nic");
  result.consumed_capacity = {{"bandwidth", "25G"}, {"queues", "1"}};
  const DeviceParts parts = weigher.weigh(result, "");
  ASSERT_EQ(parts.parts.size(), 1u);
  EXPECT_EQ(parts.parts[0].nanos, 175'000'000);
  ASSERT_EQ(parts.shares.size(), 2u);
  EXPECT_EQ(parts.shares[0].name + parts.shares[1].name, "bandwidthqueues");
  EXPECT_EQ(parts.shares[0].nanos, 250'000'000);
  EXPECT_EQ(weigher.weigh(result, "queues").parts[0].nanos, 100'000'000);
  result.consumed_capacity = {{"bandwidth", "not a quantity"}};
  EXPECT_EQ(weigher.weigh(result, "").parts[0].nanos, 0) << "a bad text takes nothing";
  result.consumed_capacity.clear();
  EXPECT_EQ(weigher.weigh(result, "").parts[0].nanos, kWholeCard) << "without an amount it is taken whole";
}

TEST(Parts, WhatNoPartitionCanUseAnyMoreIsCutOff) {
  Inventory inventory;
  publish(inventory, {{{{"memory", "4"}, {"engines", "4"}},
                       {{"whole", {{"memory", "4"}, {"engines", "4"}}},
                        {"wide", {{"memory", "1"}, {"engines", "4"}}},
                        {"half", {{"memory", "2"}, {"engines", "2"}}},
                        {"other-half", {{"memory", "2"}, {"engines", "2"}}}}}});
  const auto cut = [&] { return cut_off(*inventory.device_index().find_pool("gpu.example.com", "pool")); };
  EXPECT_DOUBLE_EQ(cut(), 0) << "nothing is in use";
  hold(inventory, "1", "half");
  EXPECT_DOUBLE_EQ(cut(), 0) << "the other half is free";
  hold(inventory, "2", "other-half");
  EXPECT_DOUBLE_EQ(cut(), 0) << "nothing is left";
  inventory.remove_claim("1");
  inventory.remove_claim("2");
  hold(inventory, "3", "wide");
  EXPECT_DOUBLE_EQ(cut(), 0.375) << "3 of 4 memory, without an engine left to go with it";
}

// The words: parts of a card that use up every counter sum to one.
TEST(Parts, PartsThatUseUpEveryCounterSumToOne) {
  const uint64_t first = test::number_from("DRA_SEED", 1), cases = test::number_from("DRA_USAGE_CARDS", 1000);
  for (uint64_t seed = first; seed < first + cases; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    SeededRandom random(seed);
    PartitionedCard card;
    const uint64_t counters = 1 + random.below(15), parts = 1 + random.below(7);
    std::vector<uint64_t> left;
    for (uint64_t c = 0; c < counters; ++c) {
      left.push_back(1 + random.below(1'000'000'007));
      card.counters.emplace_back("c" + std::to_string(c), std::to_string(left.back()));
    }
    for (uint64_t p = 0; p < parts; ++p) {
      std::vector<std::pair<std::string, std::string>> taken;
      for (uint64_t c = 0; c < counters; ++c) {
        const uint64_t amount = p + 1 == parts ? left[c] : random.below(left[c] + 1);
        left[c] -= amount;
        taken.emplace_back("c" + std::to_string(c), std::to_string(amount));
      }
      card.devices.emplace_back("p" + std::to_string(p), taken);
    }
    Inventory inventory;
    publish(inventory, {card});
    const std::string named = random.below(2) == 0 ? "" : "c0";
    double sum = 0;
    for (uint64_t p = 0; p < parts; ++p) sum += weight(inventory, "p" + std::to_string(p), named);
    ASSERT_LE(sum, 1.0 + 1e-12);
    ASSERT_NEAR(sum, 1, 1e-6);
  }
}

}  // namespace dra::usage::parts_test
