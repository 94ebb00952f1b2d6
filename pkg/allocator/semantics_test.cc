// Rules of the API one by one, as tables: tolerations, request policies, node selectors, order, gates, limits.
#include <gtest/gtest.h>

#include <functional>

#include "pkg/allocator/allocator.h"
#include "pkg/allocator/plan/capacity.h"
#include "pkg/allocator/plan/filters.h"
#include "pkg/api/selectors.h"
#include "test/support/objects.h"

namespace dra::allocator::semantics_test {
namespace {

using inventory::Features;
using inventory::Inventory;

// ---- tolerations (resource.k8s.io/v1 DeviceToleration)

TEST(Tolerations, KeyOperatorValueAndEffect) {
  const api::DeviceTaint taint{"k", "v", "NoSchedule", ""};
  const api::DeviceTaint bare{"k", "", "NoExecute", ""};
  struct Row {
    api::DeviceToleration toleration;
    bool tolerates_taint, tolerates_bare;
  };
  const std::vector<Row> rows = {
      {{"k", "Equal", "v", "", {}}, true, false},
      {{"k", "", "v", "", {}}, true, false},  // no operator: Equal
      {{"k", "", "", "", {}}, false, true},
      {{"k", "Exists", "", "", {}}, true, true},
      {{"k", "Exists", "", "NoSchedule", {}}, true, false},
      {{"k", "Exists", "", "NoExecute", {}}, false, true},
      {{"k", "Exists", "", "None", {}}, false, false},
      {{"", "Exists", "", "", {}}, true, true},   // every key
      {{"", "Equal", "v", "", {}}, true, false},  // every key with this value
      {{"", "", "", "", {}}, false, true},
      {{"l", "Exists", "", "", {}}, false, false},
      {{"k", "Near", "v", "", {}}, false, false},         // an operator of a newer server
      {{"k", "Exists", "", "", int64_t{0}}, true, true},  // seconds only affect eviction
  };
  for (size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(api::tolerates(rows[i].toleration, taint), rows[i].tolerates_taint) << "row " << i;
    EXPECT_EQ(api::tolerates(rows[i].toleration, bare), rows[i].tolerates_bare) << "row " << i;
  }
  EXPECT_FALSE(api::tolerates(std::vector<api::DeviceToleration>(), taint));
  EXPECT_TRUE(api::tolerates(
      std::vector<api::DeviceToleration>{{"l", "Exists", "", "", {}}, {"k", "Exists", "", "", {}}}, taint));
}

// ---- request policies (KEP-5075)

api::Quantity amount(const std::string& text) {
  return *api::Quantity::parse(text);
}

// What is consumed when `asked` (empty: no request) of a device with `capacity`; "-" if it does not fit.
std::string consumed(const std::string& capacity, const std::optional<inventory::CapacityPolicy>& policy,
                     const std::string& asked, bool fractional = false) {
  inventory::CapacityShape shape;
  inventory::CapacityEntry& entry = shape.entries.emplace_back();
  entry.name = "m";
  entry.value = amount(capacity);
  entry.amount = inventory::to_amount(entry.value);
  entry.policy = policy;
  CapacityRequests requests;
  if (!asked.empty()) requests["m"] = amount(asked);
  const CapacityFit fit = fit_capacity(shape, requests, fractional);
  if (!fit.fits) return "-";
  EXPECT_EQ(fit.amounts.at(0), inventory::to_amount(fit.quantities.at(0)));
  return fit.quantities.at(0).to_string();
}

inventory::CapacityPolicy ranged(const std::string& normal, const std::string& min, const std::string& max,
                                 const std::string& step) {
  inventory::CapacityPolicy policy;
  if (!normal.empty()) policy.default_value = amount(normal);
  policy.range.emplace();
  policy.range->min = amount(min);
  if (!max.empty()) policy.range->max = amount(max);
  if (!step.empty()) policy.range->step = amount(step);
  return policy;
}

TEST(RequestPolicies, WithoutOne) {
  EXPECT_EQ(consumed("10Gi", {}, ""), "10Gi");  // a request without capacity gets all of it
  EXPECT_EQ(consumed("10Gi", {}, "3Gi"), "3Gi");
  EXPECT_EQ(consumed("10Gi", {}, "11Gi"), "-");
  EXPECT_EQ(consumed("10Gi", {}, "0"), "0");
  EXPECT_EQ(consumed("10Gi", {}, "-1"), "-");
  EXPECT_EQ(consumed("1", {}, "1500m"), "-");
}

TEST(RequestPolicies, DefaultAlone) {
  inventory::CapacityPolicy policy;
  policy.default_value = amount("4Gi");
  EXPECT_EQ(consumed("10Gi", policy, ""), "4Gi");
  EXPECT_EQ(consumed("10Gi", policy, "5Gi"), "5Gi");
  EXPECT_EQ(consumed("3Gi", policy, ""), "-");  // a default may exceed the capacity
}

TEST(RequestPolicies, Range) {
  const auto policy = ranged("2Gi", "1Gi", "8Gi", "");
  EXPECT_EQ(consumed("10Gi", policy, ""), "2Gi");
  EXPECT_EQ(consumed("10Gi", policy, "1"), "1Gi");  // below the minimum: the minimum
  EXPECT_EQ(consumed("10Gi", policy, "0"), "1Gi");
  EXPECT_EQ(consumed("10Gi", policy, "3.5Gi"), amount("3.5Gi").to_string());  // no grid
  EXPECT_EQ(consumed("10Gi", policy, "8Gi"), "8Gi");
  EXPECT_EQ(consumed("10Gi", policy, "9Gi"), "-");
}

TEST(RequestPolicies, RangeWithSteps) {
  const auto policy = ranged("3Gi", "1Gi", "9Gi", "2Gi");
  EXPECT_EQ(consumed("20Gi", policy, "1Gi"), "1Gi");
  EXPECT_EQ(consumed("20Gi", policy, "2Gi"), "3Gi");  // steps count from the minimum, not from zero
  EXPECT_EQ(consumed("20Gi", policy, "3Gi"), "3Gi");
  EXPECT_EQ(consumed("20Gi", policy, "3221225473"), "5Gi");
  EXPECT_EQ(consumed("20Gi", policy, "9Gi"), "9Gi");
  EXPECT_EQ(consumed("20Gi", policy, "9663676417"), "-");         // the next step is beyond the maximum
  EXPECT_EQ(consumed("4Gi", policy, "4Gi"), "-");                 // the next step is beyond the device
  EXPECT_EQ(consumed("20", ranged("4", "1", "", "2"), ""), "4");  // a default may be off the grid
  EXPECT_EQ(consumed("20", ranged("4", "1", "", "2"), "4"), "5");
  EXPECT_EQ(consumed("20", ranged("", "500m", "", "1"), "1200m"),
            "2");  // whole units, rounded up, as the API defines it
}

// DRAFractionalCapacityRange: every row without the gate, and with it.
TEST(RequestPolicies, FractionalRanges) {
  struct Row {
    const char *capacity, *min, *max, *step, *asked, *whole, *fractional;
  };
  const Row rows[] = {
      {"20", "500m", "", "1", "1200m", "2", "1500m"},  // 500m, 1500m, 2500m
      {"20", "500m", "", "1", "1500m", "2", "1500m"},
      {"20", "500m", "", "1", "1501m", "2", "2500m"},
      {"4", "100m", "1", "100m", "250m", "1", "300m"},
      {"4", "100m", "1", "100m", "1", "1", "1"},
      {"4", "100m", "1", "100m", "1001m", "-", "-"},
      {"4", "100m", "", "100m", "50m", "100m", "100m"},  // below the minimum: the minimum, in either count
      {"4", "100m", "", "1500m", "3", "3", "3100m"},     // whole: the step is 2, from 1
      {"20Gi", "1Gi", "9Gi", "2Gi", "2Gi", "3Gi", "3Gi"},
      {"4", "0", "", "100u", "1", "1", "1"},                  // not whole thousandths: whole units
      {"8E", "0", "", "100m", "8E", "7629394531250Mi", "-"},  // beyond 64 bits in thousandths: not counted
      {"8E", "0", "", "5E", "6E", "-", "-"},                  // the next step is beyond 64 bits
      {"4", "0", "", "1", "9223372036854775807", "-", "-"},   // the request itself saturates
      {"4", "0", "4", "250m", "1e30", "-", "-"},              // far beyond
      {"4", "0", "4", "250m", "333333n", "1", "250m"},        // the request is not a whole thousandth: rounded up
  };
  for (const Row& row : rows) {
    const auto policy = ranged("", row.min, row.max, row.step);
    const std::string what = std::string(row.asked) + " of " + row.min + " to " + row.max + " by " + row.step;
    EXPECT_EQ(consumed(row.capacity, policy, row.asked), row.whole) << what;
    EXPECT_EQ(consumed(row.capacity, policy, row.asked, true), row.fractional) << what;
  }
}

// Compared with the definition: the smallest min + n * step that is not below the request, found by counting.
TEST(RequestPolicies, FractionalRangesAgreeWithCounting) {
  constexpr int64_t kMost = 6000;  // thousandths
  for (const int64_t min : {0, 1, 100, 250, 1000, 1500})
    for (const int64_t step : {1, 7, 100, 250, 333, 1000, 1500})
      for (const int64_t max : {0, 2500, 4000})
        for (int64_t asked = 0; asked <= kMost; asked += 83) {
          int64_t least = min;
          while (least < asked) least += step;
          const bool fits = least <= kMost && (max == 0 || least <= max);
          const auto milli = [](int64_t value) { return api::Quantity::from_scaled(value, -3); };
          const auto policy =
              ranged("", milli(min).to_string(), max == 0 ? "" : milli(max).to_string(), milli(step).to_string());
          const std::string got = consumed(milli(kMost).to_string(), policy, milli(asked).to_string(), true);
          ASSERT_EQ(got != "-", fits) << asked << " of " << min << " to " << max << " by " << step << ": " << got;
          if (!fits) continue;
          ASSERT_EQ(amount(got).milli_value(), least) << asked << " of " << min << " by " << step;
        }
}

TEST(RequestPolicies, ValidValues) {
  inventory::CapacityPolicy policy;
  policy.default_value = amount("5Gi");
  policy.valid_values = {amount("5Gi"), amount("10Gi"), amount("20Gi")};
  EXPECT_EQ(consumed("40Gi", policy, ""), "5Gi");
  EXPECT_EQ(consumed("40Gi", policy, "1"), "5Gi");
  EXPECT_EQ(consumed("40Gi", policy, "6Gi"), "10Gi");
  EXPECT_EQ(consumed("40Gi", policy, "20Gi"), "20Gi");
  EXPECT_EQ(consumed("40Gi", policy, "21Gi"), "-");
  EXPECT_EQ(consumed("15Gi", policy, "11Gi"), "-");
}

// ---- whole decisions

class Semantics : public testing::Test {
 protected:
  void start(const Features& features = Features::all(), const Options& options = {}) {
    allocator_.reset();  // it refers to the inventory
    inventory_ = std::make_unique<Inventory>(features);
    api::DeviceClass device_class;
    device_class.metadata.name = "any";
    inventory_->apply_class(device_class);
    for (const char* name : {"n0", "n1"}) inventory_->apply_node(name, {{"zone", name[1] == '0' ? "a" : "b"}});
    allocator_ = std::make_unique<Allocator>(*inventory_, options, random_);
  }

  static api::ResourceSlice pool(const std::string& name, int devices, const std::string& node = "n0") {
    api::ResourceSlice slice = test::local_slice("drv", name, "d", devices);
    slice.node_name = node;
    for (int d = 0; d < devices; ++d) {
      api::Device& device = slice.devices[d];
      device.attributes["number"] = int64_t{d};
      device.attributes["parity"] = int64_t{d % 2};
    }
    return slice;
  }

  static api::DeviceSubRequest body(int64_t count, const std::string& name = "") {
    api::DeviceSubRequest out;
    out.name = name;
    out.device_class_name = "any";
    out.allocation_mode = count == 0 ? "All" : "ExactCount";
    out.count = count;
    return out;
  }
  static api::ResourceClaim claim(std::vector<api::DeviceSubRequest> alternatives) {
    api::ResourceClaim out;
    out.metadata.name = "c";
    out.metadata.ns = "ns";
    out.metadata.uid = "uid";
    api::DeviceRequest& request = out.spec.requests.emplace_back();
    request.name = "r";
    if (alternatives.size() == 1) {
      request.exactly = alternatives[0];
    } else {
      request.first_available = std::move(alternatives);
    }
    return out;
  }
  Decision allocate(const api::ResourceClaim& wanted, const std::string& node = "n0") {
    return allocator_->allocate({{std::make_shared<const api::ResourceClaim>(wanted)}}, inventory_->node_id(node));
  }
  // "request=pool/device ..." or the outcome.
  std::string result(const api::ResourceClaim& wanted, const std::string& node = "n0") {
    const Decision decision = allocate(wanted, node);
    if (decision.outcome != Outcome::kFeasible) return std::string(outcome_name(decision.outcome));
    std::string text;
    for (const auto& entry : decision.results.at(0).results)
      text += (text.empty() ? "" : " ") + entry.request + "=" + entry.pool + "/" + entry.device;
    return text;
  }

  SeededRandom random_{1};
  std::unique_ptr<Inventory> inventory_;
  std::unique_ptr<Allocator> allocator_;
};

TEST_F(Semantics, PoolsWithBindingConditionsComeLastWhereTheNodeSeesThem) {
  start();
  api::ResourceSlice here = pool("a", 1);
  api::ResourceSlice there = pool("a", 1, "n1");
  here.pool.resource_slice_count = there.pool.resource_slice_count = 2;
  there.metadata.name = "slice-a-1";
  there.devices[0].name = "conditional";
  there.devices[0].binding_conditions = {"ready"};
  there.devices[0].binding_failure_conditions = {"failed"};
  inventory_->apply_slice(here);
  inventory_->apply_slice(there);
  inventory_->apply_slice(pool("b", 1));
  api::ResourceSlice other = pool("b1", 1, "n1");
  inventory_->apply_slice(other);
  EXPECT_EQ(result(claim({body(2)})), "r=a/d0 r=b/d0");
  EXPECT_EQ(result(claim({body(2)}), "n1"), "r=b1/d0 r=a/conditional");
}

TEST_F(Semantics, OneOfSeveralTermsIsTakenUnlessStrict) {
  api::ResourceSlice slice = pool("a", 1);
  slice.node_name.clear();
  slice.per_device_node_selection = true;
  slice.devices[0].node_selector = api::NodeSelector{{{{{"zone", "In", {"a"}}}, {}}, {{{"zone", "In", {"b"}}}, {}}}};
  start();
  inventory_->apply_slice(slice);
  for (const char* node : {"n0", "n1"}) {
    const Decision decision = allocate(claim({body(1)}), node);
    ASSERT_EQ(decision.outcome, Outcome::kFeasible);
    ASSERT_EQ(decision.results[0].node_selector->terms.size(), 1u);
    EXPECT_EQ(decision.results[0].node_selector->terms[0].match_expressions.at(0).values.at(0),
              node[1] == '0' ? "a" : "b");
  }
  Options strict;
  strict.strict_selector_errors = true;
  start(Features::all(), strict);
  inventory_->apply_slice(slice);
  EXPECT_EQ(result(claim({body(1)})), "Error");
}

TEST_F(Semantics, NodeSelectorIsTheNodeOrTheDevicesOwnOrNothing) {
  start();
  api::ResourceSlice everywhere = pool("a", 1);
  everywhere.node_name.clear();
  everywhere.all_nodes = true;
  inventory_->apply_slice(everywhere);
  EXPECT_FALSE(allocate(claim({body(1)})).results.at(0).node_selector);
  api::ResourceSlice zone = pool("b", 1);
  zone.node_name.clear();
  zone.node_selector = api::NodeSelector{{{{{"zone", "In", {"a"}}}, {}}}};
  inventory_->apply_slice(zone);
  const auto selector = allocate(claim({body(2)})).results.at(0).node_selector;
  ASSERT_TRUE(selector);
  EXPECT_EQ(*selector, *zone.node_selector);
  inventory_->apply_slice(pool("c", 1));
  const auto node = allocate(claim({body(3)})).results.at(0).node_selector;
  ASSERT_TRUE(node);
  EXPECT_EQ(*node, (api::NodeSelector{{{{}, {{"metadata.name", "In", {"n0"}}}}}}));
  // A device that binds to the node counts as local.
  everywhere.devices[0].binds_to_node = true;
  inventory_->apply_slice(everywhere);
  inventory_->remove_slice("slice-b");
  inventory_->remove_slice("slice-c");
  EXPECT_EQ(*allocate(claim({body(1)})).results.at(0).node_selector, *node);
}

// The manager itself would read it as one that matches no node, and never free what it allocated.
TEST_F(Semantics, NoAllocationGetsANodeSelectorThatIsNotRead) {
  start();
  api::ResourceSlice wide = pool("a", 1);
  wide.node_name.clear();
  std::vector<std::string> zones = {"a"};
  for (size_t i = 0; i < 1500; ++i) zones.push_back("zone-" + std::to_string(i));
  wide.node_selector = api::NodeSelector{{{{{"zone", "In", zones}}, {}}}};
  inventory_->apply_slice(wide);
  EXPECT_EQ(allocate(claim({body(1)})).outcome, Outcome::kFeasible);
  wide.metadata.generation = 2;
  for (size_t i = 0; i < 1500; ++i)
    wide.node_selector->terms[0].match_expressions[0].values.push_back("more-" + std::to_string(i));
  inventory_->apply_slice(wide);
  const Decision decision = allocate(claim({body(1)}));
  ASSERT_EQ(decision.outcome, Outcome::kError);
  EXPECT_NE(decision.error->message().find("let their ResourceSlices select nodes by fewer labels"), std::string::npos);
}

TEST_F(Semantics, AllIsEverythingOrNothingAndFallsThroughInsideAlternatives) {
  start();
  inventory_->apply_slice(pool("a", 2));
  EXPECT_EQ(result(claim({body(0)})), "r=a/d0 r=a/d1");
  api::AllocationResult held;
  held.results.emplace_back();
  held.results[0].driver = "drv";
  held.results[0].pool = "a";
  held.results[0].device = "d1";
  inventory_->apply_allocation("other", held);
  EXPECT_EQ(result(claim({body(0)})), "Infeasible");
  EXPECT_EQ(result(claim({body(0, "all"), body(1, "one")})), "r/one=a/d0");
  EXPECT_EQ(allocate(claim({body(0, "all"), body(1, "one")})).prioritized_scores, std::vector<int>{7});
  inventory_->remove_claim("other");
  api::ResourceClaim matching = claim({body(0)});
  matching.spec.constraints.push_back({{}, "drv/parity", std::nullopt});
  EXPECT_EQ(result(matching), "Infeasible");
  inventory_->apply_slice(pool("a", 33));
  EXPECT_EQ(result(claim({body(0)})), "Infeasible");  // more results than a claim may have
  inventory_->apply_slice(pool("a", 32));
  EXPECT_EQ(allocate(claim({body(0)})).results.at(0).results.size(), 32u);
}

TEST_F(Semantics, MatchAttributeCountsWhereBothAreSet) {
  start();
  inventory_->apply_slice(pool("a", 4));
  api::ResourceClaim both = claim({body(2)});
  both.spec.constraints.push_back({{}, "drv/parity", "drv/parity"});
  EXPECT_EQ(result(both), "r=a/d0 r=a/d2");
}

TEST_F(Semantics, EveryGateByItself) {
  struct Row {
    bool Features::*gate;
    const char* without;  // the outcome with the gate off
    std::function<void(api::ResourceSlice&, api::ResourceClaim&)> change;
  };
  const std::vector<Row> rows = {
      {&Features::admin_access, "Error", [](auto&, auto& c) { c.spec.requests[0].exactly->admin_access = true; }},
      {&Features::prioritized_list, "Error",
       [](auto&, auto& c) {
         c = claim({body(1, "a"), body(1, "b")});
       }},
      {&Features::consumable, "Error",
       [](auto& s, auto& c) {
         s.devices[0].capacity["m"].value = "2";
         c.spec.requests[0].exactly->capacity_requests["m"] = "1";
       }},
      {&Features::consumable, "Error",
       [](auto&, auto& c) {
         c.spec.constraints.push_back({{}, std::nullopt, "drv/number"});
       }},
      {&Features::partitionable, "Infeasible",
       [](auto& s, auto&) {
         s.node_name.clear();
         s.per_device_node_selection = true;
         s.devices[0].all_nodes = true;
       }},
      {&Features::binding_conditions, "Infeasible",
       [](auto& s, auto&) {
         s.devices[0].binding_conditions = {"x"};
         s.devices[0].binding_failure_conditions = {"y"};
       }},
      {&Features::list_attributes, "Infeasible",
       [](auto& s, auto& c) {
         s.devices[0].attributes["list"] = std::vector<int64_t>{1, 2};
         c.spec.constraints.push_back({{}, "drv/list", std::nullopt});
       }},
      {&Features::derived_attributes, "Error",
       [](auto&, auto& c) {
         c.spec.requests[0].exactly->derived_attributes =
             std::vector<api::DerivedAttribute>{{"derived/half", "device.attributes['drv'].number / 2"}};
         c.spec.constraints.push_back({{}, "derived/half", std::nullopt});
       }},
      {&Features::optional_node_operations, "Infeasible", [](auto& s, auto&) { s.skip_node_operations = {"*"}; }},
  };
  for (size_t i = 0; i < rows.size(); ++i) {
    SCOPED_TRACE("row " + std::to_string(i));
    for (bool on : {true, false}) {
      Features features = Features::all();
      features.*rows[i].gate = on;
      start(features);
      api::ResourceSlice slice = pool("a", 1);
      api::ResourceClaim wanted = claim({body(1)});
      rows[i].change(slice, wanted);
      inventory_->apply_slice(slice);
      EXPECT_EQ(outcome_name(allocate(wanted).outcome), on ? "Feasible" : rows[i].without);
    }
  }
  // Taints are ignored without their gate.
  for (bool on : {true, false}) {
    Features features = Features::all();
    features.device_taints = on;
    start(features);
    api::ResourceSlice slice = pool("a", 1);
    slice.devices[0].taints = {{"k", "", "NoSchedule", ""}};
    inventory_->apply_slice(slice);
    EXPECT_EQ(outcome_name(allocate(claim({body(1)})).outcome), on ? "Infeasible" : "Feasible");
  }
}

TEST_F(Semantics, AConstraintAgainstAllIsAnErrorWhenStrictAndNothingElseFits) {
  Options strict;
  strict.strict_selector_errors = true;
  start(Features::all(), strict);
  inventory_->apply_slice(pool("a", 2));
  api::ResourceClaim wanted = claim({body(0)});
  wanted.spec.constraints.push_back({{}, "drv/parity", std::nullopt});
  EXPECT_EQ(result(wanted), "Error");
}

// Reading devices for the first time counts as well; results are cached, so that the next call gets further.
TEST_F(Semantics, ASliceTooSmallForANewSelectorIsReportedAndMakesProgress) {
  Options options;
  options.slice.steps = 130;
  start(Features::all(), options);
  std::vector<NodeId> nodes;
  for (int n = 0; n < 20; ++n) {
    const std::string name = "m" + std::to_string(n);
    api::ResourceSlice slice = pool(name, 8, name);
    for (api::Device& device : slice.devices) device.attributes["serial"] = name + device.name;
    inventory_->apply_slice(slice);
    nodes.push_back(inventory_->apply_node(name, {}));
  }
  api::ResourceClaim wanted = claim({body(1)});
  wanted.spec.requests[0].exactly->selectors = {"device.attributes[\"drv\"].serial == \"m19d7\""};
  Request request{{std::make_shared<const api::ResourceClaim>(wanted)}};
  int spent = 0;
  FoundNodes found = allocator_->find_nodes(request, nodes);
  for (; found.outcome == Outcome::kUnfinished && spent < 100; ++spent) found = allocator_->find_nodes(request, nodes);
  EXPECT_GE(spent, 2);
  EXPECT_LT(spent, 20);
  ASSERT_EQ(found.outcome, Outcome::kFeasible);
  EXPECT_EQ(found.decisions[0].node, nodes[19]);
  // Known devices cost next to nothing.
  EXPECT_LT(allocator_->find_nodes(request, nodes).steps, 5u);
}

TEST_F(Semantics, EveryInfeasibleAnswerHasAProof) {
  start();
  inventory_->apply_slice(pool("a", 2));
  inventory_->apply_slice(pool("b", 3, "n1"));
  const std::vector<NodeId> both = {inventory_->node_id("n0"), inventory_->node_id("n1")};
  auto proof = [&](const api::ResourceClaim& wanted) {
    return allocator_->explain({{std::make_shared<const api::ResourceClaim>(wanted)}}, both).proof;
  };
  EXPECT_EQ(proof(claim({body(4)})), "node n0: request \"r\" wants 4 devices, 2 are left for it");
  api::ResourceClaim matching = claim({body(3)});
  matching.spec.constraints.push_back({{}, "drv/parity", std::nullopt});
  // On the second node the numbers suffice, but not the values.
  EXPECT_EQ(proof(matching), "node n1: no choice among the devices left satisfies all requests");
  api::ResourceClaim distinct = claim({body(3)});
  distinct.spec.constraints.push_back({{}, std::nullopt, "drv/parity"});
  EXPECT_NE(proof(distinct), "");
}

}  // namespace
}  // namespace dra::allocator::semantics_test
