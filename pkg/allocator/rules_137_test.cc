// What Kubernetes 1.37 and 1.38 add to the rules, one by one; test/allocharness compares them with an exhaustive
// search.
#include <gtest/gtest.h>

#include "pkg/allocator/allocator.h"
#include "pkg/allocator/plan/capacity.h"
#include "pkg/api/decode/decode.h"
#include "pkg/base/random.h"
#include "test/support/objects.h"

namespace dra::allocator::rules_137_test {
namespace {

using inventory::Features;

class Rules137 : public ::testing::Test {
 protected:
  void start(const Features& features, Strategy strategy = Strategy::kFirstFit, bool strict = false) {
    allocator_.reset();  // refers to the inventory
    inventory_ = std::make_unique<inventory::Inventory>(features);
    Options options;
    options.strategy = strategy;
    options.strict_selector_errors = strict;
    allocator_ = std::make_unique<Allocator>(*inventory_, options, random_);
    node_ = inventory_->apply_node("n", {});
    api::DeviceClass any;
    any.metadata.name = "any";
    inventory_->apply_class(any);
  }

  // A GPU: whole, in MIG slices, or as vGPUs, all of one counter set.
  void publish_gpu(const std::string& generation_of = "") {
    api::ResourceSlice counters = slice("counters", 2);
    counters.shared_counters.push_back({"gpu", {{"memory", "40"}}});
    api::ResourceSlice devices = slice("devices", 2);
    for (const std::string name : {"whole", "mig-0", "mig-1", "vgpu-0", "vgpu-1", "plain"}) {
      api::Device& device = devices.devices.emplace_back();
      device.name = name;
      device.attributes["kind"] = name.substr(0, name.find('-'));
      const std::string amount = name == "whole" ? "40" : "10";
      device.consumes_counters.push_back({"gpu", {{"memory", amount}}});
      if (name != "plain") device.consumes_counters[0].compatibility_groups = {name.substr(0, name.find('-'))};
    }
    if (!generation_of.empty()) devices.metadata.name = generation_of;
    inventory_->apply_slice(counters);
    inventory_->apply_slice(devices);
  }

  static api::ResourceSlice slice(const std::string& name, int64_t count, const std::string& pool = "p") {
    api::ResourceSlice made;
    made.metadata.name = name;
    made.driver = "drv";
    made.pool = {pool, 1, count};
    made.node_name = "n";
    return made;
  }

  static api::ResourceClaim claim(std::vector<api::DeviceRequest> requests) {
    auto made = test::named<api::ResourceClaim>("c");
    made.spec.requests = std::move(requests);
    return made;
  }

  static api::DeviceRequest of_kind(const std::string& name, const std::string& kind, int64_t count = 1) {
    api::DeviceRequest request = test::exactly(name, "any", count);
    request.exactly->selectors = {"device.attributes['drv'].kind == '" + kind + "'"};
    return request;
  }

  Decision decide(const api::ResourceClaim& claim) {
    Request request;
    request.claims = {std::make_shared<const api::ResourceClaim>(claim)};
    const FoundNodes found = allocator_->find_nodes(request, std::span(&node_, 1), 1);
    Decision decision;
    if (!found.decisions.empty()) decision = found.decisions[0];
    decision.outcome = found.outcome;
    decision.error = found.error;
    if (found.outcome == Outcome::kInfeasible) why_ = allocator_->explain(request, std::span(&node_, 1)).summary();
    return decision;
  }

  std::string devices_of(const api::ResourceClaim& claim) {
    const Decision decision = decide(claim);
    if (decision.outcome != Outcome::kFeasible) return std::string(outcome_name(decision.outcome));
    std::string text;
    for (const auto& one : decision.results.at(0).results) text += (text.empty() ? "" : " ") + one.device;
    return text;
  }

  void hold(const std::string& uid, const std::string& device, bool share = false) {
    api::AllocationResult held;
    auto& entry = held.results.emplace_back();
    entry.driver = "drv";
    entry.pool = "p";
    entry.device = device;
    if (share) entry.share_id = "share-" + uid;
    if (share) entry.consumed_capacity["m"] = "1";
    inventory_->apply_allocation(uid, held);
  }

  SeededRandom random_{1};
  std::unique_ptr<inventory::Inventory> inventory_;
  std::unique_ptr<Allocator> allocator_;
  inventory::NodeId node_ = 0;
  std::string why_;
};

TEST_F(Rules137, DevicesOfOneCounterSetHaveAGroupInCommon) {
  for (const Strategy strategy : {Strategy::kFirstFit, Strategy::kBestFit, Strategy::kPack, Strategy::kSpread}) {
    start(Features::all(), strategy);
    publish_gpu();
    EXPECT_EQ(devices_of(claim({of_kind("a", "mig", 2)})), "mig-0 mig-1");
    EXPECT_EQ(devices_of(claim({of_kind("a", "mig"), of_kind("b", "vgpu")})), "Infeasible");
    EXPECT_EQ(devices_of(claim({of_kind("a", "mig"), of_kind("b", "plain")})), "Infeasible");
    EXPECT_EQ(devices_of(claim({test::exactly("a", "any", 3)})), "Infeasible");
    hold("other", "vgpu-1");
    EXPECT_EQ(devices_of(claim({of_kind("a", "mig")})), "Infeasible");
    EXPECT_NE(why_.find("compatibility groups"), std::string::npos) << why_;
    EXPECT_EQ(devices_of(claim({of_kind("a", "plain")})), "Infeasible");
    EXPECT_EQ(devices_of(claim({test::exactly("a", "any")})), "vgpu-0");
    EXPECT_EQ(inventory_->usage(inventory_->pools()[0].id).free, 1u);
    inventory_->remove_claim("other");
    EXPECT_EQ(devices_of(claim({of_kind("a", "mig")})), "mig-0");
    EXPECT_TRUE(inventory_->audit().empty());
  }
}

// Switched off while pods wait and run: nothing of the pool is given, its holders keep what they have, and it is said.
TEST_F(Rules137, WithoutTheirGateAPoolWithGroupsIsIncomplete) {
  start(Features{});
  publish_gpu();
  api::ResourceSlice other = slice("other", 1, "q");
  other.devices.emplace_back().name = "free";
  inventory_->apply_slice(other);
  EXPECT_EQ(inventory_->pool("drv", "p")->state, inventory::PoolState::kIncomplete);
  EXPECT_NE(inventory_->pool("drv", "p")->reason.find("--feature-gates=DRADeviceCompatibilityGroups=true"),
            std::string::npos);
  EXPECT_EQ(devices_of(claim({test::exactly("a", "any")})), "free");
  hold("other", "plain");
  EXPECT_EQ(devices_of(claim({test::exactly("a", "any")})), "free");
  EXPECT_EQ(inventory_->observed_devices("other").size(), 1u);
  api::DeviceRequest all = test::exactly("a", "any");
  all.exactly->allocation_mode = "All";
  all.exactly->count = 0;
  EXPECT_EQ(devices_of(claim({all})), "Infeasible");
  EXPECT_TRUE(inventory_->audit().empty());
}

class Derived : public Rules137 {
 protected:
  void SetUp() override {
    start(Features::all());
    publish({0, 0, 1, 1});
  }
  void publish(const std::vector<int64_t>& numa) {
    api::ResourceSlice made = slice("s", 1);
    for (size_t i = 0; i < numa.size(); ++i) {
      api::Device& device = made.devices.emplace_back();
      device.name = "d" + std::to_string(i);
      device.attributes["index"] = static_cast<int64_t>(i);
      if (numa[i] >= 0) device.attributes["numa"] = numa[i];
    }
    inventory_->apply_slice(made);
  }
  static api::DeviceRequest with(const std::string& name, const std::string& expression, int64_t count = 1,
                                 const std::string& attribute = "derived/x") {
    api::DeviceRequest request = test::exactly(name, "any", count);
    request.exactly->derived_attributes = std::vector<api::DerivedAttribute>{{attribute, expression}};
    return request;
  }
  static api::ResourceClaim matching(std::vector<api::DeviceRequest> requests,
                                     const std::string& attribute = "derived/x") {
    api::ResourceClaim made = claim(std::move(requests));
    made.spec.constraints.push_back({{}, attribute, std::nullopt});
    return made;
  }
  const std::string numa_ = "device.attributes['drv'].numa";
};

TEST_F(Derived, StandForTheAttributeOfTheirRequest) {
  EXPECT_EQ(devices_of(matching({with("a", "device.attributes['drv'].index % 2", 2)})), "d0 d2");
  EXPECT_EQ(devices_of(matching({with("a", numa_, 2)})), "d0 d1");
  EXPECT_EQ(devices_of(matching({with("a", numa_, 3)})), "Infeasible");
  // Two expressions of one name, and the device's own attribute in the place of one.
  EXPECT_EQ(devices_of(matching({with("a", "1 - " + numa_), with("b", numa_)})), "d0 d2");
  EXPECT_EQ(devices_of(matching({with("a", "1 - " + numa_, 1, "drv/numa"), test::exactly("b", "any")}, "drv/numa")),
            "d0 d2");
  // Neither a derived nor an own attribute.
  EXPECT_EQ(devices_of(matching({with("a", numa_), test::exactly("b", "any")})), "Infeasible");
  api::ResourceClaim distinct = claim({with("a", numa_, 2)});
  distinct.spec.constraints.push_back({{}, std::nullopt, "derived/x"});
  EXPECT_EQ(devices_of(distinct), "d0 d2");
  // One that no constraint reads is not evaluated.
  EXPECT_EQ(devices_of(claim({with("a", "8 / (device.attributes['drv'].index - 0)", 2)})), "d0 d1");
}

TEST_F(Derived, AFailureIsAnErrorOfTheDecision) {
  publish({-1, 0, 0});
  const Decision decision = decide(matching({with("a", numa_, 2)}));
  ASSERT_EQ(decision.outcome, Outcome::kError);
  EXPECT_NE(decision.error->message().find("derived attribute \"derived/x\" failed on device drv/p/d0: no such key"),
            std::string::npos)
      << decision.error->message();
  // Too few candidates do not hide it, nor does an alternative.
  EXPECT_EQ(devices_of(matching({with("a", numa_, 9)})), "Error");
  EXPECT_EQ(devices_of(matching({with("a", "dyn(1.5)")})), "Error");
  EXPECT_EQ(devices_of(matching({with("a", "[device.attributes['drv'].index, device.driver]")})), "Error");
  // A device that is no candidate is not asked.
  api::DeviceRequest guarded = with("a", numa_, 2);
  guarded.exactly->selectors = {"device.attributes['drv'].index > 0"};
  EXPECT_EQ(devices_of(matching({guarded})), "d1 d2");
  hold("other", "d0");
  EXPECT_EQ(devices_of(matching({with("a", numa_, 2)})), "d1 d2");
  // What does not compile, or is of another type, is refused by name.
  for (const char* expression : {"device.nothing", "1.5", "{'a': 1}"}) {
    const Decision refused = decide(matching({with("a", expression)}));
    ASSERT_EQ(refused.outcome, Outcome::kError) << expression;
    EXPECT_NE(refused.error->message().find("derived attribute #0 \"derived/x\""), std::string::npos);
  }
}

TEST_F(Derived, AListIsASetWithItsGateAndStandsAloneWithout) {
  const std::string pair = "[device.attributes['drv'].index + 0, device.attributes['drv'].index + 1]";
  EXPECT_EQ(devices_of(matching({with("a", pair, 2)})), "d0 d1");
  EXPECT_EQ(devices_of(matching({with("a", pair, 3)})), "Infeasible");
  Features without = Features::all();
  without.list_attributes = false;
  start(without);
  publish({0, 0, 1, 1});
  EXPECT_EQ(devices_of(matching({with("a", pair)})), "d0");
  EXPECT_EQ(devices_of(matching({with("a", pair, 2)})), "Infeasible");
  api::ResourceClaim distinct = claim({with("a", pair), with("b", numa_)});
  distinct.spec.constraints.push_back({{}, std::nullopt, "derived/x"});
  EXPECT_EQ(devices_of(distinct), "Infeasible");
}

// A slice of work may end between any two evaluations: the decision is the same.
TEST_F(Derived, SlicesChangeNothing) {
  std::vector<int64_t> numa;
  for (int64_t i = 0; i < 60; ++i) numa.push_back(i / 2);
  publish(numa);
  Options options;
  options.slice.steps = 128;
  allocator_ = std::make_unique<Allocator>(*inventory_, options, random_);
  Request request;
  request.claims = {std::make_shared<const api::ResourceClaim>(matching({with("a", "59 - " + numa_ + " * 2", 2)}))};
  FoundNodes found;
  int turns = 0;
  do {
    found = allocator_->find_nodes(request, std::span(&node_, 1), 1);
  } while (found.outcome == Outcome::kUnfinished && ++turns < 1000);
  ASSERT_EQ(found.outcome, Outcome::kFeasible);
  EXPECT_GT(turns, 0);
}

TEST_F(Rules137, SkippedNodeOperationsAreCopiedIntoResults) {
  start(Features::all());
  api::ResourceSlice made = slice("s", 1);
  made.devices.emplace_back().name = "d";
  made.skip_node_operations = {"NodePrepareResources", "*", "Newer"};
  made.partition_type_attribute = "drv/profile";  // about pool status alone
  inventory_->apply_slice(made);
  const Decision decision = decide(claim({test::exactly("a", "any")}));
  ASSERT_EQ(decision.outcome, Outcome::kFeasible);
  ASSERT_TRUE(decision.results[0].results[0].skip_node_operations);
  EXPECT_EQ(*decision.results[0].results[0].skip_node_operations, made.skip_node_operations);
  start(Features{});
  inventory_->apply_slice(made);
  EXPECT_EQ(devices_of(claim({test::exactly("a", "any")})), "Infeasible");
  EXPECT_NE(inventory_->pool("drv", "p")->refused.find("DRAOptionalNodeOperations"), std::string::npos);
  made.skip_node_operations.clear();
  inventory_->apply_slice(made);
  EXPECT_EQ(devices_of(claim({test::exactly("a", "any")})), "d");
}

TEST_F(Rules137, ACapacityHasTwoNamesFrom138On) {
  for (const bool either : {false, true}) {
    Features features = Features::all();
    features.either_capacity_name = either;
    start(features);
    api::ResourceSlice made = slice("s", 1);
    for (const std::string name : {"m", "drv/k"}) {
      api::Device& device = made.devices.emplace_back();
      device.name = name == "m" ? "bare" : "full";
      device.capacity[name].value = "10";
      device.allow_multiple_allocations = true;
      device.capacity[name].request_policy.emplace().default_value = "1";
    }
    inventory_->apply_slice(made);
    const auto asking = [&](const std::string& name, const std::string& amount) {
      api::DeviceRequest request = test::exactly("a", "any");
      request.exactly->capacity_requests[name] = amount;
      return devices_of(claim({request}));
    };
    EXPECT_EQ(asking("m", "4"), "bare");
    EXPECT_EQ(asking("drv/k", "4"), "full");
    EXPECT_EQ(asking("drv/m", "4"), either ? "bare" : "Infeasible");
    EXPECT_EQ(asking("k", "4"), either ? "full" : "Infeasible");
    EXPECT_EQ(asking("other/m", "4"), "Infeasible");
    // Consumption counts by whichever name, in every release.
    api::AllocationResult held;
    auto& entry = held.results.emplace_back();
    entry.driver = "drv";
    entry.pool = "p";
    entry.device = "full";
    entry.share_id = "s";
    entry.consumed_capacity["k"] = "8";
    inventory_->apply_allocation("holder", held);
    EXPECT_EQ(asking("drv/k", "4"), "Infeasible");
    EXPECT_EQ(asking("drv/k", "2"), "full");
  }
}

// kube-scheduler of 1.37 and before gives such a device to one claim exclusively (upstream 140798).
TEST_F(Rules137, ADeviceThatIsSharedAndNoLongerShareableIsInUse) {
  start(Features{});
  api::ResourceSlice made = slice("s", 1);
  made.devices.emplace_back().name = "d";
  made.devices[0].allow_multiple_allocations = true;
  made.devices[0].capacity["m"].value = "10";
  inventory_->apply_slice(made);
  hold("a", "d", true);
  made.devices[0].allow_multiple_allocations = false;
  inventory_->apply_slice(made);
  EXPECT_EQ(devices_of(claim({test::exactly("a", "any")})), "Infeasible");
  inventory_->remove_claim("a");
  EXPECT_EQ(devices_of(claim({test::exactly("a", "any")})), "d");
}

// Mode All beside an incomplete pool: an error of the whole decision until 1.37, a node that does not fit from 1.38 on.
TEST_F(Rules137, AllBesideAnIncompletePool) {
  for (const bool of_138 : {false, true})
    for (const bool strict : {false, true}) {
      Features features;
      features.incomplete_pool_excludes_node = of_138;
      start(features, Strategy::kFirstFit, strict);
      api::ResourceSlice made = slice("s", 1);
      made.devices.emplace_back().name = "d";
      inventory_->apply_slice(made);
      inventory_->apply_slice(slice("t", 2, "q"));
      api::ResourceSlice updating = slice("u", 2, "r");
      updating.devices.emplace_back().name = "e";
      inventory_->apply_slice(updating);
      api::DeviceRequest all = test::exactly("a", "any");
      all.exactly->allocation_mode = "All";
      all.exactly->count = 0;
      EXPECT_EQ(devices_of(claim({all})), strict && !of_138 ? "Error" : "Infeasible");
    }
}

}  // namespace
}  // namespace dra::allocator::rules_137_test
