#include "pkg/inventory/inventory.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "pkg/base/random.h"
#include "pkg/inventory/device_index.h"
#include "pkg/inventory/value_code.h"

namespace dra::inventory::inventory_test {
namespace {

api::ResourceSlice slice(const std::string& name, const std::string& pool, int64_t generation, int64_t count,
                         std::vector<std::string> devices, const std::string& node = "n0") {
  api::ResourceSlice s;
  s.metadata.name = name;
  s.driver = "drv";
  s.pool = {pool, generation, count};
  s.node_name = node;
  for (std::string& device : devices) s.devices.emplace_back().name = std::move(device);
  return s;
}

api::AllocationResult holding(std::vector<std::string> devices, const std::string& pool = "p") {
  api::AllocationResult result;
  for (const std::string& device : devices) {
    auto& entry = result.results.emplace_back();
    entry.request = "r";
    entry.driver = "drv";
    entry.pool = pool;
    entry.device = device;
  }
  return result;
}

uint32_t available(const Inventory& inventory) {
  return inventory.pool("drv", "p")->available;
}

TEST(InventoryPools, HighestGenerationCountsAndMustBeWhole) {
  Inventory inventory;
  inventory.apply_slice(slice("a", "p", 1, 1, {"d0"}));
  EXPECT_EQ(inventory.pool("drv", "p")->state, PoolState::kComplete);
  inventory.apply_slice(slice("b", "p", 2, 2, {"d0", "d1"}));
  PoolInfo info = *inventory.pool("drv", "p");
  EXPECT_EQ(info.state, PoolState::kIncomplete);
  EXPECT_EQ(info.obsolete_slices, 1);
  EXPECT_EQ(info.reason, "generation 2 has 1 of 2 announced slices");
  inventory.apply_slice(slice("a", "p", 2, 2, {"d2"}));
  info = *inventory.pool("drv", "p");
  EXPECT_EQ(info.state, PoolState::kComplete);
  EXPECT_EQ(info.devices, 3u);
  EXPECT_EQ(info.node, "n0");
  // Allocation order: slices by name.
  EXPECT_EQ(inventory.devices(info.id)[0].name.device, "d2");
  inventory.remove_slice("a");
  EXPECT_EQ(inventory.pool("drv", "p")->state, PoolState::kIncomplete);
  inventory.remove_slice("b");
  EXPECT_FALSE(inventory.pool("drv", "p"));
  EXPECT_EQ(inventory.device_count(), 0u);
}

TEST(InventoryPools, WhatIsPublishedWronglyMakesThePoolInvalidWithAReason) {
  auto reason = [](const std::vector<api::ResourceSlice>& slices) {
    Inventory inventory;
    for (const auto& s : slices) inventory.apply_slice(s);
    PoolInfo info = *inventory.pool("drv", "p");
    return info.state == PoolState::kInvalid ? info.reason : "not invalid: " + std::string(pool_state_name(info.state));
  };
  EXPECT_EQ(reason({slice("a", "p", 1, 1, {"d", "d"})}), "device \"d\" is published twice");

  api::ResourceSlice step = slice("a", "p", 1, 1, {"d"});
  step.devices[0].allow_multiple_allocations = true;
  step.devices[0].capacity["m"] = {"10", api::CapacityRequestPolicy{"1", {}, api::CapacityRange{"1", {}, "0"}}};
  EXPECT_NE(reason({step}).find("step"), std::string::npos) << reason({step});

  api::ResourceSlice negative = slice("a", "p", 1, 1, {"d"});
  negative.devices[0].capacity["m"].value = "-1";
  EXPECT_NE(reason({negative}).find("must not be negative"), std::string::npos);

  api::ResourceSlice counter = slice("a", "p", 1, 1, {"d"});
  counter.devices[0].consumes_counters = {{"set", {{"c", "1"}}}};
  EXPECT_NE(reason({counter}).find("which the pool does not publish"), std::string::npos);

  api::ResourceSlice text = slice("a", "p", 1, 1, {"d"});
  text.devices[0].capacity["m"].value = "lots";
  EXPECT_NE(reason({text}).find("\"lots\" is not a quantity"), std::string::npos);
}

TEST(InventoryUse, HoldersAreAMultisetByClaim) {
  Inventory inventory;
  inventory.apply_allocation("c1", holding({"d0"}));  // before its slice
  inventory.apply_slice(slice("a", "p", 1, 1, {"d0", "d1"}));
  EXPECT_EQ(available(inventory), 1u);
  inventory.apply_allocation("c2", holding({"d0"}));
  auto findings = inventory.audit();
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].kind, AuditFinding::Kind::kDeviceOverCommitted);
  EXPECT_EQ(findings[0].claims, (std::vector<std::string>{"c1", "c2"}));
  inventory.remove_claim("c1");  // the other claim still holds it
  EXPECT_EQ(available(inventory), 1u);
  EXPECT_TRUE(inventory.audit().empty());
  inventory.remove_claim("c2");
  EXPECT_EQ(available(inventory), 2u);
  EXPECT_EQ(inventory.claim_count(), 0u);
}

TEST(InventoryUse, OfThousandsOfHoldersThoseThatWereAskedAboutAreNamed) {
  Inventory inventory;
  inventory.apply_slice(slice("a", "p", 1, 1, {"d0", "d1"}));
  for (int i = 0; i < 3000; ++i) inventory.apply_allocation("c" + std::to_string(i), holding({"d0"}));
  inventory.apply_allocation("alone", holding({"d1"}));
  for (const char* asked : {"c0", "c2999"}) {
    const std::vector<std::string> uids{"alone", asked, "unknown"};
    const auto findings = inventory.over_commitments(uids, Layer::kAll);
    ASSERT_EQ(findings.size(), 1u);
    EXPECT_EQ(findings[0].claims.size(), kMaxClaimsOfFinding + 1);
    EXPECT_TRUE(std::is_sorted(findings[0].claims.begin(), findings[0].claims.end()));
    EXPECT_TRUE(std::binary_search(findings[0].claims.begin(), findings[0].claims.end(), asked));
    EXPECT_NE(findings[0].message.find("held 3000 times"), std::string::npos);
  }
  EXPECT_TRUE(inventory.over_commitments(std::vector<std::string>{"alone", "unknown"}, Layer::kAll).empty());
  EXPECT_EQ(inventory.audit().size(), 1u);
}

// Some claims hold all partitions, so a counter has many more holders than it has different ones.
TEST(InventoryUse, ClaimsThatHoldManyPartitionsDoNotHideTheOthers) {
  Inventory inventory;
  std::vector<std::string> names;
  for (int d = 10; d < 70; ++d) names.push_back("d" + std::to_string(d));
  api::ResourceSlice devices = slice("a", "p", 1, 2, names);
  for (auto& device : devices.devices) device.consumes_counters = {{"set", {{"memory", "1"}}}};
  api::ResourceSlice counters = slice("b", "p", 1, 2, {});
  counters.shared_counters = {{"set", {{"memory", "20"}}}};
  inventory.apply_slice(devices);
  inventory.apply_slice(counters);
  std::vector<std::string> claims;
  for (int i = 0; i < 100; ++i) {
    claims.push_back("c" + std::to_string(i));
    inventory.apply_allocation(claims.back(), holding(i < 10 ? names : std::vector<std::string>{names.back()}));
  }
  std::sort(claims.begin(), claims.end());
  const auto findings = inventory.over_commitments(std::vector<std::string>{"c7"}, Layer::kAll);
  ASSERT_EQ(findings.size(), names.size() + 1);
  for (const AuditFinding& finding : findings) {
    const bool all = finding.kind == AuditFinding::Kind::kCounterOverCommitted || finding.device.device == names.back();
    EXPECT_EQ(finding.claims.size(), all ? claims.size() : 10U) << finding.message;
    if (all) {
      EXPECT_EQ(finding.claims, claims);
    }
  }
}

TEST(InventoryUse, AssumedAndObservedAreOneHolder) {
  Inventory inventory;
  inventory.apply_slice(slice("a", "p", 1, 1, {"d0", "d1"}));
  inventory.assume("c", holding({"d0"}));
  EXPECT_TRUE(inventory.assumed("c"));
  inventory.apply_allocation("c", holding({"d0"}));
  EXPECT_TRUE(inventory.audit().empty());
  std::vector<Holder> holders = inventory.holders({"drv", "p", "d0"});
  ASSERT_EQ(holders.size(), 1u);
  EXPECT_TRUE(holders[0].observed && holders[0].assumed);
  inventory.forget("c");
  EXPECT_FALSE(inventory.assumed("c"));
  EXPECT_EQ(available(inventory), 1u);
  inventory.assume("c", holding({"d1"}));  // the two layers differ: both count
  EXPECT_EQ(available(inventory), 0u);
  inventory.forget_all();
  EXPECT_EQ(available(inventory), 1u);
}

TEST(InventoryUse, DevicesAreFreeAtAGlance) {
  Inventory inventory;
  inventory.apply_slice(slice("a", "p", 1, 1, {"d0", "d1", "d2"}));
  EXPECT_TRUE(inventory.are_free(holding({"d0", "d1"})));
  EXPECT_FALSE(inventory.are_free(holding({"d0", "d3"}))) << "not published";
  EXPECT_FALSE(inventory.are_free(holding({"d0"}, "q")));
  const uint64_t tables = inventory.tables_version();
  inventory.assume("c", holding({"d1"}));
  EXPECT_FALSE(inventory.are_free(holding({"d0", "d1"})));
  EXPECT_TRUE(inventory.are_free(holding({"d0", "d2"})));
  inventory.apply_allocation("e", holding({"d2"}));
  EXPECT_FALSE(inventory.are_free(holding({"d2"})));
  inventory.forget_all();
  inventory.remove_claim("e");
  EXPECT_TRUE(inventory.are_free(holding({"d1", "d2"})));
  EXPECT_EQ(inventory.tables_version(), tables) << "claims are not tables";

  api::ResourceSlice shared = slice("b", "s", 1, 1, {"d0"});
  shared.devices[0].allow_multiple_allocations = true;
  inventory.apply_slice(shared);
  EXPECT_GT(inventory.tables_version(), tables);
  EXPECT_FALSE(inventory.are_free(holding({"d0"}, "s")));
  inventory.apply_slice(slice("a", "p", 2, 2, {"d0", "d1", "d2"}));
  EXPECT_FALSE(inventory.are_free(holding({"d0"}))) << "the pool is incomplete";
}

TEST(InventoryUse, TheVersionOfTablesGrowsWithAllThatSelectsDevices) {
  Inventory inventory;
  inventory.apply_slice(slice("a", "p", 1, 1, {"d0"}));
  uint64_t last = inventory.tables_version();
  const auto grew = [&] { return std::exchange(last, inventory.tables_version()) < inventory.tables_version(); };
  api::DeviceClass gpus;
  gpus.metadata.name = "gpu";
  inventory.apply_class(gpus);
  EXPECT_TRUE(grew());
  inventory.remove_class("gpu");
  EXPECT_TRUE(grew());
  api::DeviceTaintRule rule;
  rule.metadata.name = rule.metadata.uid = "rule";
  rule.has_selector = true;
  rule.taint.key = "broken";
  rule.taint.effect = "NoSchedule";
  inventory.apply_taint_rule(rule);
  EXPECT_TRUE(grew());
  inventory.remove_taint_rule("rule");
  EXPECT_TRUE(grew());
  inventory.apply_node("n0", {{"zone", "a"}});
  EXPECT_TRUE(grew());
  inventory.apply_node("n0", {{"zone", "b"}});
  EXPECT_TRUE(grew());
  inventory.remove_node("n0");
  EXPECT_TRUE(grew());
  Features later = inventory.features();
  later.fractional_ranges = !later.fractional_ranges;
  inventory.set_features(later);
  EXPECT_TRUE(grew());
  inventory.remove_slice("a");
  EXPECT_TRUE(grew());
}

TEST(InventoryUse, AdminAccessHoldsNothing) {
  Inventory inventory;
  inventory.apply_slice(slice("a", "p", 1, 1, {"d0"}));
  api::AllocationResult result = holding({"d0"});
  result.results[0].admin_access = true;
  inventory.apply_allocation("c", result);
  EXPECT_EQ(available(inventory), 1u);
}

TEST(InventoryUse, CountersBlockDevicesAndTheLayerOfAProofIsRespected) {
  Inventory inventory;
  api::ResourceSlice devices = slice("a", "p", 1, 2, {"whole", "half-0", "half-1"});
  for (auto& device : devices.devices)
    device.consumes_counters = {{"gpu", {{"memory", device.name == "whole" ? "80Gi" : "40Gi"}}}};
  api::ResourceSlice counters = slice("b", "p", 1, 2, {});
  counters.shared_counters = {{"gpu", {{"memory", "80Gi"}}}};
  inventory.apply_slice(devices);
  inventory.apply_slice(counters);
  EXPECT_EQ(available(inventory), 3u);
  inventory.apply_allocation("c1", holding({"half-0"}));
  EXPECT_EQ(available(inventory), 1u);  // half-1
  inventory.assume("c2", holding({"whole"}));
  std::vector<std::string> both{"c1", "c2"};
  auto findings = inventory.over_commitments(both, Layer::kAll);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].kind, AuditFinding::Kind::kCounterOverCommitted);
  EXPECT_EQ(findings[0].counter_set, "gpu");
  EXPECT_EQ(findings[0].name, "memory");
  EXPECT_TRUE(inventory.over_commitments(both, Layer::kObserved).empty());
}

TEST(InventoryUse, SharedCapacityIsSummedAndAudited) {
  Inventory inventory;
  api::ResourceSlice s = slice("a", "p", 1, 1, {"d0"});
  s.devices[0].allow_multiple_allocations = true;
  s.devices[0].capacity["memory"].value = "10Gi";
  inventory.apply_slice(s);
  for (int i = 0; i < 3; ++i) {
    api::AllocationResult share = holding({"d0"});
    share.results[0].share_id = "share-" + std::to_string(i);
    share.results[0].consumed_capacity["memory"] = "4Gi";
    inventory.apply_allocation("c" + std::to_string(i), share);
    EXPECT_EQ(inventory.audit().size(), i == 2 ? 1u : 0u);
  }
  EXPECT_EQ(inventory.audit()[0].kind, AuditFinding::Kind::kCapacityOverCommitted);
  EXPECT_EQ(inventory.audit()[0].name, "memory");
}

// Eight partitions plus the whole device of each of two GPUs: 18 are published, at most 16 fit together.
TEST(InventoryUsage, FreeIsWhatCanBeHadTogether) {
  Inventory inventory;
  api::ResourceSlice devices = slice("b", "p", 1, 2, {});
  api::ResourceSlice counters = slice("a", "p", 1, 2, {});
  for (const char* gpu : {"g0", "g1"}) {
    counters.shared_counters.push_back({gpu, {{"slices", "8"}}});
    for (int i = 0; i < 9; ++i) {
      api::Device& device = devices.devices.emplace_back();
      device.name = std::string(gpu) + "-" + std::to_string(i);
      device.consumes_counters = {{gpu, {{"slices", i == 8 ? "8" : "1"}}}};
    }
  }
  inventory.apply_slice(devices);
  inventory.apply_slice(counters);
  const PoolId pool = inventory.pool("drv", "p")->id;
  EXPECT_EQ(inventory.pool("drv", "p")->available, 18u);
  EXPECT_EQ(inventory.usage(pool).free, 16u);
  inventory.apply_allocation("c", holding({"g0-3"}));
  EXPECT_EQ(inventory.usage(pool).free, 15u);
  EXPECT_EQ(inventory.usage(pool).cut, 1u) << "the whole of g0";
  inventory.apply_allocation("d", holding({"g1-8"}));
  EXPECT_EQ(inventory.usage(pool).free, 7u);
  EXPECT_EQ(inventory.usage(pool).cut, 9u) << "and the partitions of g1";
  std::swap(devices.devices[0], devices.devices[8]);  // the whole GPU first: allocation would take it
  inventory.remove_claim("c");
  inventory.apply_slice(devices);
  EXPECT_EQ(inventory.usage(pool).free, 1u);
}

TEST(InventoryUsage, ASharedDeviceThatIsUsedUpIsNotFree) {
  Inventory inventory;
  api::ResourceSlice s = slice("a", "p", 1, 1, {"d0", "d1"});
  for (api::Device& device : s.devices) {
    device.allow_multiple_allocations = true;
    device.capacity["memory"] = {"10", api::CapacityRequestPolicy{"4", {}, api::CapacityRange{"4", {}, {}}}};
  }
  inventory.apply_slice(s);
  const PoolId pool = inventory.pool("drv", "p")->id;
  auto take = [&](const std::string& claim, const std::string& amount) {
    api::AllocationResult share = holding({"d0"});
    share.results[0].share_id = "share-" + claim;
    share.results[0].consumed_capacity["memory"] = amount;
    inventory.apply_allocation(claim, share);
  };
  take("c1", "4");
  EXPECT_EQ(inventory.usage(pool).free, 2u);
  take("c2", "4");  // 2 are left, no request can be smaller than 4
  EXPECT_EQ(inventory.usage(pool).free, 1u);
}

TEST(InventoryUsage, IgnoredTaintsKeepNothingFromBeingFree) {
  Inventory inventory;
  api::ResourceSlice s = slice("a", "p", 1, 1, {"d0", "d1", "d2", "d3"});
  for (api::Device& device : s.devices) device.taints = {{"ours", "", "NoSchedule", ""}};
  s.devices[1].taints.push_back({"broken", "", "NoExecute", ""});
  s.devices[2].taints = {{"ours", "", "NoExecute", ""}};
  s.devices[3].taints = {{"note", "", "None", ""}};
  inventory.apply_slice(s);
  const PoolId pool = inventory.pool("drv", "p")->id;
  EXPECT_EQ(inventory.usage(pool), (Usage{4, 0, 1, 3}));
  const std::vector<std::string> ignored{"ours"};
  EXPECT_EQ(inventory.usage(pool, ignored), (Usage{4, 0, 2, 3}));
}

TEST(InventoryTaints, RulesLieOverTheSlices) {
  Inventory inventory;
  inventory.apply_slice(slice("a", "p", 1, 1, {"d0", "d1"}));
  api::DeviceTaintRule rule;
  rule.metadata.name = "rule";
  rule.taint = {"k", "v", "NoSchedule", ""};
  inventory.apply_taint_rule(rule);  // without a selector: matches nothing
  EXPECT_TRUE(inventory.device({"drv", "p", "d0"})->taints.empty());
  rule.has_selector = true;
  rule.device = "d1";
  inventory.apply_taint_rule(rule);
  EXPECT_TRUE(inventory.device({"drv", "p", "d0"})->taints.empty());
  EXPECT_EQ(inventory.device({"drv", "p", "d1"})->taints.size(), 1u);
  inventory.remove_taint_rule("rule");
  EXPECT_TRUE(inventory.device({"drv", "p", "d1"})->taints.empty());
}

TEST(InventoryNodes, ViewsFollowSelectorsAndLabels) {
  Inventory inventory;
  api::ResourceSlice wide = slice("w", "wide", 1, 1, {"d0"}, "");
  wide.node_selector.emplace();
  wide.node_selector->terms.push_back({{{"zone", "In", {"a"}}}, {}});
  inventory.apply_slice(wide);
  inventory.apply_slice(slice("l", "local", 1, 1, {"d0"}, "n0"));
  NodeId n0 = inventory.apply_node("n0", {{"zone", "a"}});
  NodeId n1 = inventory.apply_node("n1", {{"zone", "b"}});
  EXPECT_EQ(inventory.device_index().view(n0).segments.size(), 2u);
  EXPECT_EQ(inventory.device_index().view(n1).segments.size(), 0u);
  inventory.apply_node("n1", {{"zone", "a"}});
  EXPECT_EQ(inventory.device_index().view(n1).segments.size(), 1u);
  inventory.remove_slice("w");
  EXPECT_EQ(inventory.device_index().view(n1).segments.size(), 0u);
}

TEST(InventoryValues, CodesRoundTrip) {
  std::vector<api::DeviceAttribute> values{int64_t{-5},
                                           true,
                                           std::string("x"),
                                           api::VersionText{"1.2.3"},
                                           std::vector<int64_t>{1, 2},
                                           std::vector<bool>{true, false},
                                           std::vector<std::string>{"a", ""},
                                           std::vector<api::VersionText>{{"1.0.0"}}};
  for (const api::DeviceAttribute& value : values) EXPECT_EQ(decode_value(encode_value(value)), value);
  EXPECT_NE(encode_value(std::string("1.0.0")), encode_value(api::VersionText{"1.0.0"}));
}

// Whatever happens in whatever order: incremental state equals recomputed state, and nothing is left
// over.
TEST(InventoryProperty, RandomHistoriesLeaveNoDrift) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    SeededRandom random(seed);
    Inventory inventory;
    auto device = [&] { return "d" + std::to_string(random.below(6)); };
    for (int step = 0; step < 150; ++step) {
      std::string pool = random.below(2) == 0 ? "p" : "q";
      std::string uid = "c" + std::to_string(random.below(5));
      switch (random.below(8)) {
        case 0:
        case 1: {
          api::ResourceSlice s =
              slice("s-" + pool, pool, 1, 2, {"d0", "d1", "d2", "d3"}, "n" + std::to_string(random.below(2)));
          for (auto& d : s.devices) {
            if (random.below(2) == 0) d.consumes_counters = {{"set", {{"c", std::to_string(random.below(3))}}}};
            d.allow_multiple_allocations = random.below(3) == 0;
            d.capacity["m"].value = std::to_string(1 + random.below(3));
          }
          if (random.below(8) == 0) s.devices[1].name = "d0";  // an invalid pool still counts its holders
          inventory.apply_slice(s);
          break;
        }
        case 2: {
          api::ResourceSlice s = slice("z-" + pool, pool, 1 + static_cast<int64_t>(random.below(2)), 2, {});
          s.shared_counters = {{"set", {{"c", "4"}}}};
          inventory.apply_slice(s);
          break;
        }
        case 3:
          inventory.remove_slice((random.below(2) == 0 ? "s-" : "z-") + pool);
          break;
        case 4:
          inventory.forget(uid);
          break;
        case 5:
          inventory.remove_claim(uid);
          break;
        default: {
          api::AllocationResult result = holding({device(), device()}, pool);
          if (random.below(2) == 0) {
            result.results[0].share_id = "share-" + uid;
            result.results[0].consumed_capacity["m"] = "1";
          }
          if (random.below(2) == 0) {
            inventory.assume(uid, result);
          } else {
            inventory.apply_allocation(uid, result);
          }
        }
      }
      for (const AuditFinding& finding : inventory.audit())
        ASSERT_NE(finding.kind, AuditFinding::Kind::kDrift) << "step " << step << ": " << finding.message;
    }
    for (int c = 0; c < 5; ++c) {
      inventory.forget("c" + std::to_string(c));
      inventory.remove_claim("c" + std::to_string(c));
    }
    for (const char* name : {"s-p", "s-q", "z-p", "z-q"}) inventory.remove_slice(name);
    EXPECT_EQ(inventory.claim_count(), 0u);
    EXPECT_EQ(inventory.device_count(), 0u);
    EXPECT_EQ(inventory.device_index().strings().size(), Inventory().device_index().strings().size())
        << "names are leaked";
  }
}

TEST(InventoryFeatures, GatesByName) {
  EXPECT_EQ(*features_from_gates({}), Features::none());
  EXPECT_TRUE(features_from_gates({"DRAAdminAccess"})->admin_access);
  EXPECT_FALSE(features_from_gates({"DRAUnknown"}));
  EXPECT_FALSE(features_from_flag("DRADeviceTaints=false")->device_taints);
  EXPECT_FALSE(features_from_flag("DRADeviceTaints=maybe"));
}

}  // namespace
}  // namespace dra::inventory::inventory_test
