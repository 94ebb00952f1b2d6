// What devices take of their node: amounts as kube-scheduler computes them, and what is not counted.
#include "pkg/inventory/node_takes.h"

#include <gtest/gtest.h>

#include "pkg/api/decode/decode.h"
#include "pkg/inventory/inventory.h"

namespace dra::inventory::node_takes_test {
namespace {

api::Quantity quantity(const std::string& text) {
  return *api::Quantity::parse(text);
}

api::Device device(std::vector<api::DeviceTake> takes, bool shared = false) {
  api::Device made;
  made.name = "d";
  made.allow_multiple_allocations = shared;
  made.takes_of_node = std::move(takes);
  return made;
}

std::string slice_with(const std::string& mappings) {
  return R"({"apiVersion":"resource.k8s.io/v1","kind":"ResourceSlice","metadata":{"name":"s"},"spec":{"driver":"drv",
      "nodeName":"n","pool":{"name":"p","generation":1,"resourceSliceCount":1},"devices":[{"name":"d",
      "nodeAllocatableResourceMappings":)" +
         mappings + "}]}}";
}

}  // namespace

TEST(NodeTakes, ProductsAreExactAndNeverTooSmall) {
  const auto text = [](const std::string& a, const std::string& b) {
    return product(quantity(a), quantity(b)).to_string();
  };
  EXPECT_EQ(text("4", "1"), "4");
  EXPECT_EQ(text("2", "500m"), "1");
  EXPECT_EQ(text("3", "500m"), "1500m");
  EXPECT_EQ(text("16Gi", "1"), "16Gi");
  EXPECT_EQ(text("16Gi", "2"), "32Gi");
  EXPECT_EQ(text("1Gi", "1.5"), "1536Mi");
  EXPECT_EQ(text("10Gi", "100m"), "1Gi");
  EXPECT_EQ(text("1n", "500m"), "1n") << "rounded up";
  EXPECT_EQ(product(quantity("9E"), quantity("9E")), quantity("9223372036854775807"));
  for (const int64_t a : {1, 7, 1000, 123456789}) {
    for (const int64_t b : {1, 3, 999, 1000, 123457}) {
      const api::Quantity x = api::Quantity::from_scaled(a, -3), y = api::Quantity::from_scaled(b, -3);
      EXPECT_EQ(product(x, y), api::Quantity::from_scaled(a * b, -6)) << a << " " << b;
    }
  }
}

TEST(NodeTakes, OfACapacityWhatIsConsumedAndOtherwiseTheMultiplierForEachResult) {
  const auto takes =
      node_takes_of(device({{"cpu", "", "3"}, {"memory", "ram", "2"}, {"hugepages-2Mi", "pages", ""}}, true), true);
  ASSERT_TRUE(takes);
  Taken sum;
  const auto consumed = [](const std::string& capacity) {
    return capacity == "ram" ? std::optional(quantity("1Gi")) : std::nullopt;
  };
  add_taken(*takes, consumed, sum);
  EXPECT_EQ(sum.at("cpu"), quantity("3"));
  EXPECT_EQ(sum.at("memory").to_string(), "2Gi");
  EXPECT_FALSE(sum.contains("hugepages-2Mi")) << "nothing of that capacity was consumed";
  add_taken(*takes, consumed, sum);
  EXPECT_EQ(sum.at("cpu"), quantity("6"));
  EXPECT_EQ(sum.at("memory").to_string(), "4Gi");
}

TEST(NodeTakes, WhatIsNotCounted) {
  EXPECT_TRUE(node_takes_of(device({{"cpu", "", "1"}}), true));
  EXPECT_TRUE(node_takes_of(device({{"ephemeral-storage", "", "1Gi"}}), true));
  EXPECT_FALSE(node_takes_of(api::Device(), true));
  EXPECT_FALSE(node_takes_of(device({{"pods", "", "1"}}), true));
  EXPECT_FALSE(node_takes_of(device({{"cpu", "", "0"}}), true));
  EXPECT_FALSE(node_takes_of(device({{"cpu", "", "-1"}}), true));
  EXPECT_FALSE(node_takes_of(device({{"cpu", "", "many"}}), true));
  EXPECT_FALSE(node_takes_of(device({{"cpu", "cores", ""}}), true)) << "nothing is consumed of a whole device";
  EXPECT_TRUE(node_takes_of(device({{"cpu", "cores", ""}}, true), true));
  EXPECT_FALSE(node_takes_of(device({{"cpu", "cores", ""}}, true), false)) << "DRAConsumableCapacity is off";
}

TEST(NodeTakes, AreKnownOnlyWhereTheyAreAllThatRefusesTheDevice) {
  const auto known = [](const std::string& mappings, const api::IgnoredFields& ignored = {}) -> std::string {
    const auto slice = api::decode<api::ResourceSlice>(slice_with(mappings));
    if (!slice) return slice.error().message();
    Features features;
    features.ignored_fields = ignored;
    Inventory inventory(features);
    inventory.apply_slice(*slice);
    bool published = false;
    const NodeTakes* takes = inventory.takes_of({"drv", "p", "d"}, published);
    EXPECT_TRUE(published);
    EXPECT_EQ(inventory.any_takes(), takes != nullptr);
    const bool refused = !inventory.device({"drv", "p", "d"})->refused.empty();
    return std::string(refused ? "refused" : "free") + (takes == nullptr ? "" : ", takes " + (*takes)[0].resource);
  };
  EXPECT_EQ(known(R"({"cpu":{"allocationMultiplier":"3"}})"), "refused, takes cpu");
  EXPECT_EQ(known(R"({"cpu":{"allocationMultiplier":3}})"), "refused, takes cpu");
  EXPECT_EQ(known(R"({"cpu":{"allocationMultiplier":"3","newer":"x"}})"), "refused");
  EXPECT_EQ(known(R"({"cpu":{}})"), "refused");
  EXPECT_EQ(known(R"({"cpu":{"allocationMultiplier":{}}})"), "refused");
  EXPECT_EQ(known(R"({"example.com/x":{"allocationMultiplier":"3"}})"), "refused");
  EXPECT_EQ(known(R"({"cpu":{"allocationMultiplier":"3"}},"newer":1)"), "refused");
  EXPECT_EQ(known(R"({"cpu":{"allocationMultiplier":"3"}},"newer":1)", {"resourceslices.spec.devices.newer"}),
            "refused, takes cpu");
  EXPECT_EQ(
      known(R"({"cpu":{"allocationMultiplier":"3"}})", {"resourceslices.spec.devices.nodeAllocatableResourceMappings"}),
      "free");
  EXPECT_EQ(known(R"({"cpu":{"allocationMultiplier":"3"}},"nodeAllocatableResources":{"cpu":{"mapping":{}}})"),
            "refused");
}

TEST(NodeTakes, GoWithTheirSlice) {
  Inventory inventory;
  inventory.apply_slice(*api::decode<api::ResourceSlice>(slice_with(R"({"cpu":{"allocationMultiplier":"3"}})")));
  EXPECT_TRUE(inventory.any_takes());
  inventory.apply_slice(*api::decode<api::ResourceSlice>(slice_with(R"({"cpu":{"allocationMultiplier":"4"}})")));
  bool known = false;
  EXPECT_EQ(inventory.takes_of({"drv", "p", "d"}, known)->at(0).multiplier, quantity("4"));
  inventory.apply_slice(*api::decode<api::ResourceSlice>(slice_with("{}")));
  EXPECT_FALSE(inventory.any_takes());
  inventory.apply_slice(*api::decode<api::ResourceSlice>(slice_with(R"({"cpu":{"allocationMultiplier":"3"}})")));
  inventory.remove_slice("s");
  EXPECT_FALSE(inventory.any_takes());
  EXPECT_EQ(inventory.takes_of({"drv", "p", "d"}, known), nullptr);
  EXPECT_FALSE(known);
}

}  // namespace dra::inventory::node_takes_test
