// Devices that must each stand for an entry of a list of values.
#include "pkg/allocator/value_list.h"

#include <gtest/gtest.h>

#include <memory>

#include "pkg/allocator/allocator.h"
#include "pkg/base/random.h"
#include "pkg/inventory/value_code.h"

namespace dra::allocator::value_list_test {
namespace {

constexpr const char* kRail = "net.example.com/rail";

std::string code(int64_t value) {
  return inventory::encode_value(value);
}

class ValueListTest : public testing::Test {
 protected:
  ValueListTest() : allocator_(inventory_, {}, random_) {
    api::DeviceClass nic;
    nic.metadata.name = "nic";
    inventory_.apply_class(nic);
    node_ = inventory_.apply_node("n1", {});
  }

  // A device for each of these lists of values; an empty one lacks the attribute.
  void publish(const std::vector<std::vector<int64_t>>& values) {
    api::ResourceSlice slice;
    slice.metadata.name = slice.node_name = "n1";
    slice.driver = "nic.example.com";
    slice.pool = {"n1", 1, 1};
    for (size_t i = 0; i < values.size(); ++i) {
      api::Device& device = slice.devices.emplace_back();
      device.name = "nic-" + std::to_string(i);
      if (values[i].size() == 1) device.attributes[kRail] = values[i][0];
      if (values[i].size() > 1) device.attributes[kRail] = values[i];
    }
    inventory_.apply_slice(slice);
  }

  Request want(int count, const std::vector<int64_t>& entries) {
    auto claim = std::make_shared<api::ResourceClaim>();
    claim->metadata.name = claim->metadata.uid = "c";
    claim->metadata.ns = "default";
    api::DeviceSubRequest body;
    body.device_class_name = "nic";
    body.count = count;
    claim->spec.requests.push_back({"nic", body, {}});
    Request request;
    request.claims.push_back(claim);
    ValueList list;
    list.attribute = kRail;
    for (const int64_t entry : entries) list.entries.push_back(code(entry));
    list.requests.emplace_back(0, "nic");
    request.lists.push_back(list);
    return request;
  }

  // The devices, or why there are none.
  std::string decide(const Request& request) {
    const Decision decision = allocator_.allocate(request, node_);
    if (decision.outcome != Outcome::kFeasible) return std::string(outcome_name(decision.outcome));
    std::string text;
    for (const auto& device : decision.results.at(0).results) text += (text.empty() ? "" : " ") + device.device;
    return text;
  }

  inventory::Inventory inventory_{inventory::Features::all()};
  SeededRandom random_{1};
  Allocator allocator_;
  NodeId node_ = inventory::kNone;
};

TEST_F(ValueListTest, EachDeviceHasAnEntryOfItsOwn) {
  publish({{0}, {0}, {1}, {2}});
  EXPECT_EQ(decide(want(2, {0, 2})), "nic-0 nic-3");
  EXPECT_EQ(decide(want(2, {0, 0})), "nic-0 nic-1");
  EXPECT_EQ(decide(want(2, {0, 0, 1})), "nic-0 nic-1");
  EXPECT_EQ(decide(want(2, {1, 1})), outcome_name(Outcome::kInfeasible));
  EXPECT_EQ(decide(want(3, {0, 2})), outcome_name(Outcome::kInfeasible));
  EXPECT_EQ(decide(want(1, {7})), outcome_name(Outcome::kInfeasible));
}

// The first device must move from entry 0 to entry 1.
TEST_F(ValueListTest, ListsAreMatched) {
  publish({{0, 1}, {0}, {2, 3}});
  EXPECT_EQ(decide(want(2, {0, 1})), "nic-0 nic-1");
  EXPECT_EQ(decide(want(3, {0, 1, 2})), "nic-0 nic-1 nic-2");
  EXPECT_EQ(decide(want(3, {0, 1, 1})), outcome_name(Outcome::kInfeasible));
}

TEST_F(ValueListTest, WhatIsTakenAlreadyStandsForAnEntry) {
  publish({{0}, {1}});
  Request request = want(1, {0, 1});
  request.lists[0].taken = {{code(0)}};
  EXPECT_EQ(decide(request), "nic-1");
  request.lists[0].taken = {{code(5)}};
  EXPECT_EQ(decide(request), outcome_name(Outcome::kInfeasible));
}

TEST_F(ValueListTest, AnyValueIsStillAValue) {
  publish({{}, {3}});
  Request request = want(1, {});
  EXPECT_EQ(decide(request), outcome_name(Outcome::kInfeasible)) << "a list without entries";
  request.lists[0].any = true;
  EXPECT_EQ(decide(request), "nic-1");
}

TEST_F(ValueListTest, TheLongestMemberHasAsManyDevicesAsEntries) {
  publish({{0}, {1}, {2}});
  Request request = want(2, {0, 1, 2});
  request.lists[0].least = 3;
  EXPECT_EQ(decide(request), outcome_name(Outcome::kInfeasible));
  request.lists[0].least = 2;
  EXPECT_EQ(decide(request), "nic-0 nic-1");
}

TEST_F(ValueListTest, TheSupplyIsCountedByValues) {
  publish({{0}, {0}, {1, 2}, {}});
  const ValueSupply supply = allocator_.value_supply(want(1, {0}), node_);
  ASSERT_TRUE(supply.finished);
  ASSERT_EQ(supply.lines.size(), 2u);
  EXPECT_EQ(supply.lines[0].devices + supply.lines[1].devices, 3u);
}

}  // namespace
}  // namespace dra::allocator::value_list_test
