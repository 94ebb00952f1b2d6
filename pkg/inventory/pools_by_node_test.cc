// One pool name on several nodes: each node judges the pool by the slices that it can use, as kube-scheduler does. The
// rule is compared with a second, slow statement of it on random pools.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "pkg/base/random.h"
#include "pkg/inventory/device_index.h"
#include "pkg/inventory/inventory.h"

namespace dra::inventory::pools_by_node_test {
namespace {

api::ResourceSlice slice(const std::string& name, const std::string& node, int64_t generation, int64_t count,
                         const std::vector<std::string>& devices) {
  api::ResourceSlice s;
  s.metadata.name = name;
  s.driver = "drv";
  s.pool = {"blue", generation, count};
  s.node_name = node;
  for (const std::string& device : devices) s.devices.emplace_back().name = device;
  return s;
}

api::AllocationResult holding(const std::string& device) {
  api::AllocationResult result;
  auto& entry = result.results.emplace_back();
  entry.request = "r";
  entry.driver = "drv";
  entry.pool = "blue";
  entry.device = device;
  return result;
}

PoolState state_on(const Inventory& inventory, const std::string& node) {
  return inventory.pool_on("drv", "blue", node)->state;
}

TEST(PoolsByNode, SlicesOfANodeThatAreAsManyAsAnnouncedAreThePool) {
  Inventory inventory;
  inventory.apply_slice(slice("m0", "m0", 1, 1, {"eth0", "eth1"}));
  inventory.apply_slice(slice("m1", "m1", 1, 1, {"eth0", "eth1"}));
  EXPECT_EQ(inventory.pool("drv", "blue")->reason,
            "generation 1 has 2 of 1 announced slices: nodes m0 and m1 publish under this pool name, which must be one "
            "per node");
  for (const char* node : {"m0", "m1"}) {
    EXPECT_EQ(state_on(inventory, node), PoolState::kComplete) << node;
    EXPECT_EQ(inventory.device_on({"drv", "blue", "eth0"}, node)->node, node);
    EXPECT_TRUE(inventory.device_on({"drv", "blue", "eth0"}, node)->available);
  }
  const auto parts = inventory.pools_by_node();
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(parts[0].node, "m0");
  EXPECT_EQ(inventory.usage(parts[1]), (Usage{2, 0, 2, 0}));
}

// A device is its driver, pool and name: kube-scheduler 1.36.2 keeps a pod waiting for the namesake of a held one.
TEST(PoolsByNode, ADeviceHeldOnOneNodeIsNotFreeOnTheOther) {
  Inventory inventory;
  inventory.apply_slice(slice("m0", "m0", 1, 1, {"eth0", "eth1"}));
  inventory.apply_slice(slice("m1", "m1", 1, 1, {"eth0", "eth1"}));
  inventory.apply_allocation("c", holding("eth0"));
  for (const PoolInfo& part : inventory.pools_by_node()) EXPECT_EQ(inventory.usage(part), (Usage{2, 1, 1, 0}));
  EXPECT_FALSE(inventory.device_on({"drv", "blue", "eth0"}, "m1")->available);
  EXPECT_TRUE(inventory.audit().empty());
}

// A pod must not be evicted for a taint of another node's device.
TEST(PoolsByNode, TaintsAreThoseOfTheDeviceOnTheNode) {
  Inventory inventory;
  api::ResourceSlice tainted = slice("m0", "m0", 1, 1, {"eth0"});
  tainted.devices[0].taints.push_back({"broken", "", "NoExecute", ""});
  inventory.apply_slice(tainted);
  inventory.apply_slice(slice("m1", "m1", 1, 1, {"eth0"}));
  EXPECT_EQ(inventory.placed_taints({"drv", "blue", "eth0"}, "m0").size(), 1u);
  EXPECT_EQ(inventory.placed_taints({"drv", "blue", "eth0"}, "m1").size(), 0u);
}

TEST(PoolsByNode, EachNodeHasItsOwnGeneration) {
  Inventory inventory;
  inventory.apply_slice(slice("m0", "m0", 3, 1, {"eth0"}));
  inventory.apply_slice(slice("m1", "m1", 1, 1, {"eth1"}));
  inventory.apply_slice(slice("m2a", "m2", 2, 2, {"eth2"}));
  inventory.apply_slice(slice("m2b", "m2", 2, 2, {"eth3"}));
  for (const char* node : {"m0", "m1", "m2"}) EXPECT_EQ(state_on(inventory, node), PoolState::kComplete) << node;
  EXPECT_EQ(inventory.device_count(), 4u);
  EXPECT_EQ(inventory.pool("drv", "blue")->obsolete_slices, 0);
  inventory.remove_slice("m2b");  // not whole any more, and a newer generation exists: its devices are gone
  EXPECT_FALSE(inventory.device({"drv", "blue", "eth2"}));
  inventory.apply_slice(slice("m1-new", "m1", 4, 2, {"eth9"}));  // being updated on m1 alone
  EXPECT_EQ(state_on(inventory, "m1"), PoolState::kIncomplete);
  EXPECT_EQ(state_on(inventory, "m0"), PoolState::kComplete);
}

TEST(PoolsByNode, AFaultOnOneNodeIsNotAFaultOfTheOther) {
  Inventory inventory;
  inventory.apply_slice(slice("m0", "m0", 1, 1, {"eth0", "eth0"}));
  inventory.apply_slice(slice("m1", "m1", 1, 1, {"eth1"}));
  EXPECT_EQ(inventory.pool_on("drv", "blue", "m0")->reason, "device \"eth0\" is published twice");
  EXPECT_EQ(state_on(inventory, "m1"), PoolState::kComplete);
}

// ---- against a second statement of the rule

struct Published {
  std::string node;  // empty: all nodes
  int64_t generation = 0, count = 0;
  std::vector<std::string> devices;
};

// "complete", "incomplete", "invalid", or "none" if the node sees no device.
std::string expected(const std::map<std::string, Published>& slices, const std::string& node) {
  int64_t newest_here = 0, newest = 0;
  bool any_wide = false;
  for (const auto& [name, one] : slices) {
    newest = std::max(newest, one.generation);
    if (one.node.empty() || one.node == node) newest_here = std::max(newest_here, one.generation);
  }
  std::vector<const Published*> here;
  int64_t everywhere = 0;
  for (const auto& [name, one] : slices) {
    if (one.generation != newest_here) continue;
    ++everywhere;
    any_wide = any_wide || one.node.empty();
    if (one.node.empty() || one.node == node) here.push_back(&one);
  }
  size_t devices = 0;
  std::set<std::string> names;
  bool agreed = true;
  for (const Published* one : here) {
    devices += one->devices.size();
    names.insert(one->devices.begin(), one->devices.end());
    agreed = agreed && one->count == here[0]->count;
  }
  if (devices == 0) return "none";
  const bool whole = agreed && static_cast<int64_t>(here.size()) == here[0]->count;
  if (newest_here < newest && (!whole || any_wide || names.size() < devices)) return "none";
  if (!whole && (!agreed || everywhere != here[0]->count)) return "incomplete";
  return names.size() < devices ? "invalid" : "complete";
}

std::string found(Inventory& inventory, const std::string& node) {
  for (const Segment& segment : inventory.device_index().view(inventory.node_id(node)).segments)
    return std::string(pool_state_name(segment.judgement.state));
  return "none";
}

// Whether nodes may judge the pool otherwise than the pool as a whole is judged.
bool expected_to_differ(const std::map<std::string, Published>& slices, PoolState whole) {
  int64_t newest = 0;
  for (const auto& [name, one] : slices) newest = std::max(newest, one.generation);
  std::set<std::string> places;
  for (const auto& [name, one] : slices)
    if (one.generation == newest) places.insert(one.node);
  return whole != PoolState::kComplete && places.size() > 1;
}

TEST(PoolsByNode, SlicesOfSomeNodesOrOfANodeForEachDeviceDiffer) {
  Inventory inventory;
  api::ResourceSlice some = slice("a", "", 1, 3, {"eth0"});
  some.node_selector.emplace();
  inventory.apply_slice(some);
  EXPECT_TRUE(inventory.pool("drv", "blue")->differs_by_node);
  some.node_selector.reset();
  some.all_nodes = true;
  inventory.apply_slice(some);
  EXPECT_FALSE(inventory.pool("drv", "blue")->differs_by_node);
  api::ResourceSlice of_each = slice("b", "", 1, 3, {"eth1"});
  of_each.per_device_node_selection = true;
  of_each.devices[0].node_name = "m0";
  inventory.apply_slice(of_each);
  EXPECT_TRUE(inventory.pool("drv", "blue")->differs_by_node);
  inventory.remove_slice("b");
  EXPECT_FALSE(inventory.pool("drv", "blue")->differs_by_node);
  // Counters matter to every node.
  api::ResourceSlice counters = slice("c", "m0", 1, 3, {});
  counters.shared_counters.emplace_back().name = "counters";
  inventory.apply_slice(counters);
  EXPECT_FALSE(inventory.pool("drv", "blue")->differs_by_node);
}

// A field that is not known refuses the pool on all its nodes; it says something about the pool.
TEST(PoolsByNode, AnUnknownFieldRefusesThePoolOfAllNodesWhileItsSliceCounts) {
  Inventory inventory;
  const auto refused = [&](const std::string& node) {
    return inventory.device_on({"drv", "blue", "eth0"}, node)->refused;
  };
  for (const char* node : {"m0", "m1"}) inventory.apply_slice(slice(node, node, 1, 1, {"eth0", "eth1"}));
  api::ResourceSlice strange = slice("m1", "m1", 1, 1, {"eth0", "eth1"});
  strange.unknown.emplace().fields = {{"resourceslices.spec.a", "spec.a", api::UnknownField::Why::kName}};
  inventory.apply_slice(strange);
  for (const char* node : {"m0", "m1"}) {
    EXPECT_EQ(state_on(inventory, node), PoolState::kComplete) << node;
    EXPECT_TRUE(refused(node).starts_with("ResourceSlice \"m1\": field spec.a is not known")) << refused(node);
    EXPECT_FALSE(inventory.device_on({"drv", "blue", "eth0"}, node)->available);
  }
  for (const PoolInfo& part : inventory.pools_by_node()) EXPECT_EQ(inventory.usage(part).free, 0u);
  // m0 goes on to the next generation; m1 still uses its own.
  inventory.apply_slice(slice("m0", "m0", 2, 1, {"eth0", "eth1"}));
  EXPECT_FALSE(refused("m1").empty());
  inventory.apply_slice(slice("m1", "m1", 1, 1, {"eth0", "eth1"}));
  EXPECT_EQ(refused("m0") + refused("m1"), "");
  // One device of one node.
  strange.unknown->fields = {{"resourceslices.spec.devices.a", "spec.devices[1].a", api::UnknownField::Why::kName}};
  strange.unknown->devices = {{1, 0}};
  inventory.apply_slice(strange);
  EXPECT_EQ(refused("m0") + refused("m1"), "");
  EXPECT_FALSE(inventory.device_on({"drv", "blue", "eth1"}, "m1")->refused.empty());
  EXPECT_EQ(inventory.device_on({"drv", "blue", "eth1"}, "m0")->refused, "");
}

TEST(PoolsByNode, RandomPoolsAreJudgedAsTheRuleSays) {
  std::map<std::string, int> seen;
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    SeededRandom random(seed);
    const bool wide = random.below(4) == 0;
    const bool generations = random.below(2) == 0;
    Inventory inventory;
    std::map<std::string, Published> slices;
    for (int step = 0; step < 40; ++step) {
      const std::string name = "s" + std::to_string(random.below(6));
      if (random.below(4) == 0) {
        slices.erase(name);
        inventory.remove_slice(name);
      } else {
        Published one;
        one.node = wide && random.below(4) == 0 ? "" : "m" + std::to_string(random.below(3));
        one.generation = generations ? 1 + static_cast<int64_t>(random.below(3)) : 1;
        one.count = 1 + static_cast<int64_t>(random.below(3));
        for (uint64_t d = random.below(3); d > 0; --d) one.devices.push_back("eth" + std::to_string(random.below(5)));
        api::ResourceSlice published = slice(name, one.node, one.generation, one.count, one.devices);
        published.all_nodes = one.node.empty();
        inventory.apply_slice(published);
        slices[name] = std::move(one);
      }
      if (const auto whole = inventory.pool("drv", "blue")) {
        ASSERT_EQ(whole->differs_by_node, expected_to_differ(slices, whole->state)) << "seed " << seed;
      }
      for (const char* node : {"m0", "m1", "m2"}) {
        inventory.apply_node(node, {});
        const std::string want = expected(slices, node);
        ++seen[want];
        ASSERT_EQ(found(inventory, node), want) << "seed " << seed << " step " << step << " node " << node;
      }
      for (const AuditFinding& finding : inventory.audit())
        ASSERT_NE(finding.kind, AuditFinding::Kind::kDrift) << finding.message;
    }
  }
  for (const char* outcome : {"complete", "incomplete", "invalid", "none"}) EXPECT_GT(seen[outcome], 500) << outcome;
}

}  // namespace
}  // namespace dra::inventory::pools_by_node_test
