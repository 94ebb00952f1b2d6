#include "pkg/allocator/allocator.h"
#include "test/support/objects.h"

#include <gtest/gtest.h>

#include <map>

namespace dra::allocator::allocator_test {
namespace {

using inventory::Features;
using inventory::Inventory;

api::ResourceSlice slice(const std::string& node, int devices) {
  api::ResourceSlice s = test::local_slice("drv", node, "d", devices);
  for (int i = 0; i < devices; ++i) {
    api::Device& device = s.devices[i];
    device.attributes["index"] = int64_t{i};
    device.attributes["numa"] = int64_t{i % 2};
    device.capacity["memory"].value = "80Gi";
  }
  return s;
}

using ClaimPtr = std::shared_ptr<const api::ResourceClaim>;

api::DeviceRequest request(const std::string& name, int64_t count, std::vector<std::string> selectors = {}) {
  api::DeviceRequest r;
  r.name = name;
  r.exactly.emplace();
  r.exactly->device_class_name = "gpu";
  r.exactly->count = count;
  r.exactly->selectors = std::move(selectors);
  return r;
}

ClaimPtr claim(std::vector<api::DeviceRequest> requests, std::vector<api::DeviceConstraint> constraints = {}) {
  auto c = std::make_shared<api::ResourceClaim>();
  c->metadata.name = "c";
  c->metadata.ns = "ns";
  c->metadata.uid = "uid";
  c->spec.requests = std::move(requests);
  c->spec.constraints = std::move(constraints);
  return c;
}

class AllocatorTest : public testing::Test {
 protected:
  AllocatorTest() : inventory_(Features::all()) {
    api::DeviceClass device_class;
    device_class.metadata.name = "gpu";
    device_class.selectors = {"device.driver == \"drv\""};
    inventory_.apply_class(device_class);
  }

  void make(Options options = {}) { allocator_ = std::make_unique<Allocator>(inventory_, std::move(options), random_); }
  Decision allocate(const ClaimPtr& c, const std::string& node = "n0") {
    if (!allocator_) make();
    return allocator_->allocate({{c}}, inventory_.node_id(node));
  }
  Reasons explain(const ClaimPtr& c, const std::string& node = "n0") {
    if (!allocator_) make();
    NodeId id = inventory_.node_id(node);
    Reasons reasons = allocator_->explain({{c}}, std::span<const NodeId>(&id, 1));
    for (const RequestReason& reason : reasons.requests) {
      uint32_t sum = 0;
      for (const CauseCount& count : reason.counts) sum += count.devices;
      EXPECT_EQ(sum, reason.devices_examined) << reasons.summary();
    }
    EXPECT_LE(reasons.summary().size(), 1024u);
    return reasons;
  }
  // The counts of the first request, as "Cause[index](detail)=devices".
  std::string counts(const ClaimPtr& c, const std::string& node = "n0") {
    std::string text;
    Reasons reasons = explain(c, node);
    for (const CauseCount& count : reasons.requests.at(0).counts) {
      text += (text.empty() ? "" : " ") + std::string(cause_name(count.cause));
      if (count.index >= 0) text += "[" + std::to_string(count.index) + "]";
      if (count.cause != Cause::kEvaluationError && !count.detail.empty()) text += "(" + count.detail + ")";
      text += "=" + std::to_string(count.devices);
    }
    return text;
  }

  SeededRandom random_{1};
  Inventory inventory_;
  std::unique_ptr<Allocator> allocator_;
};

TEST_F(AllocatorTest, TakesTheFirstDevicesInOrderAndNamesTheNode) {
  inventory_.apply_slice(slice("n0", 4));
  Decision d = allocate(claim({request("r", 2)}));
  ASSERT_EQ(d.outcome, Outcome::kFeasible);
  ASSERT_EQ(d.results.size(), 1u);
  EXPECT_EQ(d.results[0].results[0].device, "d0");
  EXPECT_EQ(d.results[0].results[1].device, "d1");
  const api::NodeSelectorRequirement& r = d.results[0].node_selector->terms.at(0).match_fields.at(0);
  EXPECT_EQ(r.key, "metadata.name");
  EXPECT_EQ(r.values, std::vector<std::string>{"n0"});
  inventory_.assume("uid", d.results[0]);
  EXPECT_EQ(allocate(claim({request("r", 1)})).results.at(0).results.at(0).device, "d2");
}

// Cached explanations equal those of a new allocator, whatever changed in between; with fewer devices in use than are
// examined, and with more.
TEST_F(AllocatorTest, ExplanationsThatAreKeptUpToDateEqualNewOnes) {
  const auto text_of = [](const Reasons& reasons) {
    std::string text;
    for (const CauseCount& count : reasons.requests.at(0).counts) {
      text += std::string(cause_name(count.cause)) + "=" + std::to_string(count.devices) + ":";
      for (const HeldBy& held : count.holders) text += " " + held.claim_uid + "x" + std::to_string(held.devices);
      text += " +" + std::to_string(count.more_holders) + (count.holders_sampled ? "+\n" : "\n");
    }
    return text;
  };
  make();
  SeededRandom random(7);
  ExplainScope scope;
  scope.everywhere = true;
  const ClaimPtr wanted = claim({request("r", 5)});
  int nodes = 0;
  size_t sampled = 0, whole = 0;
  for (int step = 0; step < 600; ++step) {
    if (nodes < 90 && step % 5 == 0) inventory_.apply_slice(slice("n" + std::to_string(nodes++), 4));
    const std::string node = "n" + std::to_string(random.next() % static_cast<uint64_t>(nodes));
    const std::string uid = "holder-" + std::to_string(random.next() % 8) + node;
    if (random.next() % 4 == 0) {
      inventory_.remove_claim(uid);
    } else {
      api::AllocationResult taken;
      for (int d = 0; d < 4; ++d)
        if (random.next() % 3 != 0) taken.results.push_back({"r", "drv", node, "d" + std::to_string(d)});
      inventory_.apply_allocation(uid, taken);
    }
    const std::string kept = text_of(allocator_->explain({{wanted}}, scope));
    Allocator fresh(inventory_, {}, random_);
    ASSERT_EQ(kept, text_of(fresh.explain({{wanted}}, scope))) << "step " << step;
    ++(kept.find("+\n") != std::string::npos ? sampled : whole);
  }
  EXPECT_GT(sampled, 20u);
  EXPECT_GT(whole, 20u);
}

TEST_F(AllocatorTest, ConfigIsWrittenOnce) {
  inventory_.apply_slice(slice("n0", 4));
  api::DeviceClass device_class;
  device_class.metadata.name = "gpu";
  device_class.selectors = {"device.driver == \"drv\""};
  device_class.config = {{"drv", "{\"a\":1}"}};
  inventory_.apply_class(device_class);
  auto c = std::make_shared<api::ResourceClaim>(*claim({request("a", 1), request("b", 1)}));
  c->spec.config = {{{"a", "b"}, api::OpaqueConfig{"drv", "{\"b\":2}"}}};
  Decision d = allocate(c);
  ASSERT_EQ(d.outcome, Outcome::kFeasible);
  ASSERT_EQ(d.results[0].config.size(), 2u);
  EXPECT_EQ(d.results[0].config[0].source, "FromClass");
  EXPECT_EQ(d.results[0].config[0].requests, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(d.results[0].config[1].source, "FromClaim");
}

TEST_F(AllocatorTest, ReasonsCountEveryDeviceUnderItsFirstCause) {
  api::ResourceSlice s = slice("n0", 6);
  s.devices[1].taints = {{"broken", "yes", "NoSchedule", ""}};
  s.devices[2].attributes.erase("index");
  s.devices[3].capacity["memory"].value = "10Gi";
  inventory_.apply_slice(s);
  api::AllocationResult held;
  held.results.emplace_back();
  held.results[0].driver = "drv";
  held.results[0].pool = "n0";
  held.results[0].device = "d4";
  inventory_.apply_allocation("other", held);
  api::DeviceRequest r = request("r", 2, {"true", "device.attributes[\"drv\"].index != 5"});
  r.exactly->capacity_requests["memory"] = "20Gi";
  EXPECT_EQ(counts(claim({r})),
            "RequestSelector[1]=1 EvaluationError[1]=1 Taint(broken=yes:NoSchedule)=1 CapacityShort(memory)=1 InUse=1 "
            "Combination=1");
}

TEST_F(AllocatorTest, ReasonsOfPoolsNodesAndClasses) {
  api::ResourceSlice s = slice("n0", 2);
  s.pool.resource_slice_count = 2;
  inventory_.apply_slice(s);
  EXPECT_EQ(counts(claim({request("r", 1)})), "PoolIncomplete=2");
  s.pool.resource_slice_count = 1;
  s.devices[1].name = "d0";
  inventory_.apply_slice(s);
  EXPECT_EQ(counts(claim({request("r", 1)})), "PoolInvalid=2");
  api::ResourceSlice per_device = slice("n0", 2);
  per_device.node_name.clear();
  per_device.per_device_node_selection = true;
  per_device.devices[0].node_name = "n0";
  per_device.devices[1].node_name = "n1";
  inventory_.apply_slice(per_device);
  EXPECT_EQ(counts(claim({request("r", 2)})), "WrongNode=1 Combination=1");
  api::DeviceRequest missing = request("r", 1);
  missing.exactly->device_class_name = "none";
  EXPECT_EQ(allocate(claim({missing})).outcome, Outcome::kError);
  EXPECT_EQ(explain(claim({missing})).requests.at(0).counts.at(0).cause, Cause::kClassMissing);
}

TEST_F(AllocatorTest, ReasonsOfConstraintsCountersAndLimit) {
  api::ResourceSlice s = slice("n0", 5);
  s.devices[4].attributes["numa"] = int64_t{7};
  inventory_.apply_slice(s);
  api::DeviceConstraint match;
  match.match_attribute = "drv/numa";
  EXPECT_EQ(allocate(claim({request("r", 3)}, {match})).outcome, Outcome::kInfeasible);
  EXPECT_EQ(counts(claim({request("r", 3)}, {match})), "Constraint(drv/numa)=5");
  EXPECT_EQ(counts(claim({request("r", 2)}, {match})), "Constraint(drv/numa)=1 Combination=4");
  EXPECT_EQ(explain(claim({request("r", 40)})).requests.at(0).counts.at(0).cause, Cause::kLimit);

  api::ResourceSlice parts = slice("n1", 2);
  parts.pool.resource_slice_count = 2;
  for (auto& d : parts.devices) d.consumes_counters = {{"set", {{"m", "6"}}}};
  api::ResourceSlice counters = slice("n1", 0);
  counters.metadata.name = "z";
  counters.pool.resource_slice_count = 2;
  counters.shared_counters = {{"set", {{"m", "10"}}}};
  inventory_.apply_slice(parts);
  inventory_.apply_slice(counters);
  Decision d = allocate(claim({request("r", 1)}), "n1");
  ASSERT_EQ(d.outcome, Outcome::kFeasible);
  inventory_.assume("uid", d.results[0]);
  EXPECT_EQ(counts(claim({request("r", 1)}), "n1"), "InUse=1 CounterShort(set/m)=1");
}

TEST_F(AllocatorTest, ASelectorErrorCostsTheDeviceOrTheDecision) {
  api::ResourceSlice s = slice("n0", 3);
  s.devices[0].attributes.erase("index");
  inventory_.apply_slice(s);
  ClaimPtr c = claim({request("r", 1, {"device.attributes[\"drv\"].index >= 0"})});
  EXPECT_EQ(allocate(c).results.at(0).results.at(0).device, "d1");
  Options strict;
  strict.strict_selector_errors = true;
  make(strict);
  EXPECT_EQ(allocate(c).outcome, Outcome::kError);
}

TEST_F(AllocatorTest, QuantitiesHaveOperatorsOnlyWhenTold) {
  inventory_.apply_slice(slice("n0", 1));
  ClaimPtr fits = claim({request("r", 1, {"device.capacity[\"drv\"].memory >= quantity(\"40Gi\")"})});
  const Decision refused = allocate(fits);
  EXPECT_EQ(refused.outcome, Outcome::kError);
  ASSERT_TRUE(refused.error);
  EXPECT_NE(refused.error->message().find("\nhint: quantities and versions have no ordering operators: write "
                                          "a.compareTo(b) >= 0"),
            std::string::npos)
      << refused.error->message();
  Options options;
  options.quantity_operators = true;
  make(options);
  EXPECT_EQ(allocate(fits).outcome, Outcome::kFeasible);
  ClaimPtr exceeds = claim({request("r", 1, {"device.capacity[\"drv\"].memory > quantity(\"80Gi\")"})});
  EXPECT_EQ(allocate(exceeds).outcome, Outcome::kInfeasible);
}

TEST_F(AllocatorTest, OwnTaintsAreIgnoredOnlyWhenTold) {
  api::ResourceSlice s = slice("n0", 1);
  s.devices[0].taints = {{"dra/exclusive", "", "NoSchedule", ""}};
  inventory_.apply_slice(s);
  EXPECT_EQ(allocate(claim({request("r", 1)})).outcome, Outcome::kInfeasible);
  Options options;
  options.ignored_taints = {"dra/exclusive"};
  make(options);
  EXPECT_EQ(allocate(claim({request("r", 1)})).outcome, Outcome::kFeasible);
}

TEST_F(AllocatorTest, BudgetSpentIsNotInfeasible) {
  inventory_.apply_slice(slice("n0", 8));
  Options options;
  options.step_budget = 3;
  make(options);
  Decision d = allocate(claim({request("r", 6)}));
  EXPECT_EQ(d.outcome, Outcome::kBudgetSpent);
}

TEST_F(AllocatorTest, ChangesAreSeenByTheNextDecision) {
  inventory_.apply_slice(slice("n0", 2));
  ClaimPtr c = claim({request("r", 3)});
  NodeId n0 = inventory_.node_id("n0");
  make();
  EXPECT_EQ(allocator_->find_nodes({{c}}, std::span<const NodeId>(&n0, 1)).outcome, Outcome::kInfeasible);
  inventory_.apply_slice(slice("n0", 3));
  EXPECT_EQ(allocator_->find_nodes({{c}}, std::span<const NodeId>(&n0, 1)).outcome, Outcome::kFeasible);
  api::DeviceTaintRule rule;
  rule.metadata.name = "rule";
  rule.has_selector = true;
  rule.taint = {"k", "", "NoSchedule", ""};
  inventory_.apply_taint_rule(rule);
  EXPECT_EQ(allocator_->find_nodes({{c}}, std::span<const NodeId>(&n0, 1)).outcome, Outcome::kInfeasible);
  inventory_.remove_taint_rule("rule");
  EXPECT_EQ(allocate(c).outcome, Outcome::kFeasible);
  api::DeviceClass device_class;
  device_class.metadata.name = "gpu";
  device_class.selectors = {"false"};
  inventory_.apply_class(device_class);
  EXPECT_EQ(allocate(c).outcome, Outcome::kInfeasible);
}

TEST_F(AllocatorTest, BadRequestsAreRefusedByName) {
  inventory_.apply_slice(slice("n0", 1));
  api::DeviceRequest r = request("r", 1);
  r.exactly->allocation_mode = "Some";
  Decision d = allocate(claim({r}));
  ASSERT_EQ(d.outcome, Outcome::kError);
  EXPECT_NE(d.error->message().find("\"Some\""), std::string::npos);
  r = request("r", -1);
  EXPECT_EQ(allocate(claim({r})).outcome, Outcome::kError);
  r = request("r", 1, {"device.nonsense("});
  EXPECT_EQ(allocate(claim({r})).outcome, Outcome::kError);
  EXPECT_EQ(allocate(claim({request("r", 1)}, {api::DeviceConstraint{}})).outcome, Outcome::kError);
  r = request("r", 1);
  r.exactly->capacity_requests["memory"] = "-1";
  EXPECT_EQ(allocate(claim({r})).outcome, Outcome::kInfeasible);
}

// find_nodes with summaries and refutations equals one search per node, through a history of changes.
TEST_F(AllocatorTest, FindNodesAgreesWithASearchPerNode) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    SeededRandom random(seed);
    Inventory fleet(Features::all());
    api::DeviceClass device_class;
    device_class.metadata.name = "gpu";
    device_class.selectors = {"device.driver == \"drv\""};
    fleet.apply_class(device_class);
    std::vector<NodeId> nodes;
    for (int n = 0; n < 6; ++n) {
      nodes.push_back(fleet.apply_node("n" + std::to_string(n), {}));
      fleet.apply_slice(slice("n" + std::to_string(n), static_cast<int>(random.below(6))));
    }
    api::DeviceConstraint match;
    match.match_attribute = "drv/numa";
    Allocator fast(fleet, {}, random_);
    for (int step = 0; step < 60; ++step) {
      int64_t count = 1 + static_cast<int64_t>(random.below(3));
      std::vector<api::DeviceConstraint> constraints;
      if (random.below(2) == 0) constraints.push_back(match);
      ClaimPtr c = claim({request("r", count), request("q", 1)}, constraints);
      FoundNodes found = fast.find_nodes({{c}}, nodes);
      Allocator plain(fleet, {}, random_);
      NodeId expected = inventory::kNone;
      for (NodeId node : nodes)
        if (expected == inventory::kNone && plain.allocate({{c}}, node).outcome == Outcome::kFeasible) expected = node;
      ASSERT_EQ(found.decisions.empty() ? inventory::kNone : found.decisions[0].node, expected) << "step " << step;
      std::string uid = "u" + std::to_string(random.below(8));
      if (!found.decisions.empty() && random.below(3) != 0) {
        fleet.assume(uid, found.decisions[0].results[0]);
      } else if (random.below(2) == 0) {
        fleet.forget(uid);
      } else {
        fleet.apply_slice(slice("n" + std::to_string(random.below(6)), static_cast<int>(random.below(6))));
      }
    }
  }
}

}  // namespace
}  // namespace dra::allocator::allocator_test
