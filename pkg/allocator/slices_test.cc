// Decisions in slices, growing budgets, and the budgets of namespaces.
#include <gtest/gtest.h>

#include <malloc.h>

#include <iostream>

#include "pkg/allocator/allocator.h"
#include "pkg/allocator/budget/namespace_budget.h"
#include "test/support/cpu_millis.h"
#include "test/support/objects.h"

namespace dra::allocator::slices_test {
namespace {

using inventory::Features;
using inventory::Inventory;
using ClaimPtr = std::shared_ptr<const api::ResourceClaim>;

api::ResourceSlice slice_of(const std::string& node, const std::string& name, int devices, int of_pool = 1) {
  api::ResourceSlice s = test::local_slice("drv", node, name + "-", devices);
  s.metadata.name = node + "-" + name;
  s.pool.resource_slice_count = of_pool;
  for (api::Device& device : s.devices) {
    device.attributes["name"] = device.name;
    device.capacity["memory"].value = "100";
  }
  return s;
}

api::DeviceRequest exactly(const std::string& name, std::vector<std::string> selectors,
                           const std::string& memory = "") {
  api::DeviceRequest r = test::exactly(name, "any");
  r.exactly->selectors = std::move(selectors);
  if (!memory.empty()) r.exactly->capacity_requests["memory"] = memory;
  return r;
}

ClaimPtr claim_of(std::vector<api::DeviceRequest> requests) {
  auto c = std::make_shared<api::ResourceClaim>();
  c->metadata.name = "c";
  c->metadata.ns = "ns";
  c->metadata.uid = "uid";
  c->spec.requests = std::move(requests);
  return c;
}

using test::cpu_millis;

class SlicesTest : public testing::Test {
 protected:
  SlicesTest() : inventory_(Features::all()) {
    api::DeviceClass any;
    any.metadata.name = "any";
    any.selectors = {"device.driver == \"drv\""};
    inventory_.apply_class(any);
  }

  NodeId add_node(const std::string& name) {
    nodes_.push_back(inventory_.apply_node(name, {}));
    return nodes_.back();
  }
  void make(const Options& options) { allocator_ = std::make_unique<Allocator>(inventory_, options, random_); }

  // Five shared devices of 100 (or as many as given) for six large and some small shares: the sums fit, the shares do
  // not, and only a search shows it.
  void add_puzzle(const std::string& node, int devices = 5) {
    api::ResourceSlice s = slice_of(node, "d", devices);
    for (api::Device& device : s.devices) device.allow_multiple_allocations = true;
    inventory_.apply_slice(s);
  }
  static ClaimPtr puzzle_claim() {
    std::vector<api::DeviceRequest> requests;
    for (int i = 0; i < 6; ++i) requests.push_back(exactly("small" + std::to_string(i), {}, std::to_string(3 + i)));
    for (int i = 0; i < 6; ++i) requests.push_back(exactly("large" + std::to_string(i), {}, std::to_string(55 + i)));
    return claim_of(std::move(requests));
  }

  Inventory inventory_;
  SeededRandom random_{1};
  std::vector<NodeId> nodes_;
  std::unique_ptr<Allocator> allocator_;
};

TEST_F(SlicesTest, TheBudgetDoublesUntilTheClaimIsDecided) {
  add_node("n0");
  add_puzzle("n0");
  Options options;
  options.step_budget = 100;
  options.max_step_budget = 100'000;
  make(options);
  const ClaimPtr claim = puzzle_claim();
  uint64_t budget = 100;
  int attempts = 0;
  for (;; ++attempts, budget *= 2) {
    const FoundNodes found = allocator_->find_nodes({{claim}}, nodes_);
    ASSERT_EQ(found.budget, std::min<uint64_t>(budget, 100'000));
    if (found.outcome == Outcome::kInfeasible) break;
    ASSERT_EQ(found.outcome, Outcome::kBudgetSpent);
    ASSERT_LT(attempts, 12);
  }
  EXPECT_GT(attempts, 1);
  // Decided claims do not keep a larger budget.
  inventory_.apply_slice(slice_of("n0", "e", 1));
  EXPECT_EQ(allocator_->find_nodes({{claim}}, nodes_).budget, 100u);
}

TEST_F(SlicesTest, TheBudgetHasAnEnd) {
  add_node("n0");
  add_puzzle("n0", 7);
  Options options;
  options.step_budget = 4;
  options.max_step_budget = 10;
  make(options);
  std::vector<uint64_t> budgets;
  for (int i = 0; i < 4; ++i) budgets.push_back(allocator_->find_nodes({{puzzle_claim()}}, nodes_).budget);
  EXPECT_EQ(budgets, (std::vector<uint64_t>{4, 8, 10, 10}));
}

TEST_F(SlicesTest, HardNodesDoNotStarveAnEasyOne) {
  for (int n = 0; n < 45; ++n) {
    add_node("hard" + std::to_string(n));
    add_puzzle("hard" + std::to_string(n));
  }
  const NodeId easy = add_node("easy");
  add_puzzle("easy", 12);
  Options options;
  options.step_budget = 500;
  make(options);
  const ClaimPtr claim = puzzle_claim();
  FoundNodes found;
  int attempts = 0;
  uint64_t steps = 0;
  do {
    found = allocator_->find_nodes({{claim}}, nodes_);
    steps += found.steps;
  } while (found.outcome == Outcome::kBudgetSpent && ++attempts < 10);
  ASSERT_EQ(found.outcome, Outcome::kFeasible);
  EXPECT_EQ(found.decisions[0].node, easy);
  EXPECT_GT(attempts, 0);
  EXPECT_LT(steps, 20'000u);
}

TEST_F(SlicesTest, ASearchGoesOnWhereTheSliceEnded) {
  add_node("n0");
  add_puzzle("n0");
  Options options;
  options.step_budget = 1'000'000;
  make(options);
  const ClaimPtr claim = puzzle_claim();
  const FoundNodes whole = allocator_->find_nodes({{claim}}, nodes_);
  ASSERT_EQ(whole.outcome, Outcome::kInfeasible);
  options.slice.steps = 2000;
  make(options);
  uint64_t steps = 0;
  int slices = 0;
  FoundNodes found;
  do {
    found = allocator_->find_nodes({{claim}}, nodes_);
    EXPECT_LT(found.steps, 4000u);
    steps += found.steps;
    ASSERT_LT(++slices, 500);
  } while (found.outcome == Outcome::kUnfinished);
  EXPECT_EQ(found.outcome, Outcome::kInfeasible);
  EXPECT_GT(slices, 2);
  EXPECT_LT(steps, 4 * whole.steps + 1000);  // restarting each time would never finish
}

TEST_F(SlicesTest, CostlySelectorsAreEvaluatedInSlices) {
  constexpr int kSlices = 16;
  add_node("n0");
  for (int s = 0; s < kSlices; ++s) inventory_.apply_slice(slice_of("n0", "s" + std::to_string(s), 64, kSlices));
  Options options;
  options.slice.steps = 20'000;
  options.step_budget = 10'000'000;
  make(options);
  // True on every device, after some hundred thousand units of cost; the name makes each one different.
  std::string inner = "true";
  for (const char* v : {"c", "b", "a"}) {
    std::string list;
    for (int i = 0; i < 24; ++i) list += (i > 0 ? "," : "") + std::to_string(i);
    inner = "[" + list + "].all(" + v + ", " + inner + ")";
  }
  const std::string costly = inner + " && device.attributes[\"drv\"].name != \"\"";
  const ClaimPtr claim = claim_of({exactly("r", {costly, costly + " && true", costly + " && 1 == 1"})});
  const ClaimPtr none = claim_of({exactly("r", {costly, costly + " && true", "false && " + costly})});
  for (const ClaimPtr& one : {claim, none}) {
    double longest = 0;
    int slices = 0;
    FoundNodes found;
    do {
      const double start = cpu_millis();
      found = allocator_->find_nodes({{one}}, nodes_);
      longest = std::max(longest, cpu_millis() - start);
      ASSERT_LT(++slices, 5000);
    } while (found.outcome == Outcome::kUnfinished);
    std::cout << slices << " slices, the longest " << longest << " ms\n";
    EXPECT_LT(longest, 100);
    EXPECT_EQ(found.outcome, one == claim ? Outcome::kFeasible : Outcome::kInfeasible);
    if (one == claim) {
      EXPECT_GT(slices, 3);
    }
  }
  make(options);
  const double start = cpu_millis();
  const Reasons reasons = allocator_->explain({{none}}, nodes_);
  EXPECT_LT(cpu_millis() - start, 200);
  ASSERT_EQ(reasons.requests.size(), 1u);
  EXPECT_EQ(reasons.requests[0].devices_asked, 1024u);
  EXPECT_GT(reasons.requests[0].devices_examined, 0u);
  EXPECT_LT(reasons.requests[0].devices_examined, 1024u);
}

// 64 selectors that read everything of 10,000 different devices.
TEST_F(SlicesTest, WhatIsKeptStaysWithinItsBytes) {
  constexpr int kNodes = 80;
  for (int n = 0; n < kNodes; ++n) {
    const std::string name = "n" + std::to_string(n);
    add_node(name);
    inventory_.apply_slice(slice_of(name, "d" + std::to_string(n), 125));
  }
  make({});
  const size_t before = mallinfo2().uordblks;
  size_t most = before;
  for (int turn = 0; turn < 8; ++turn) {
    std::vector<std::string> selectors;
    for (int s = 0; s < 8; ++s)
      selectors.push_back("device.attributes[\"drv\"].exists(k, k == \"name\") && " + std::to_string(turn * 8 + s) +
                          (s == 7 ? " < 0" : " >= 0"));
    EXPECT_EQ(allocator_->find_nodes({{claim_of({exactly("r", selectors)})}}, nodes_).outcome, Outcome::kInfeasible);
    most = std::max(most, static_cast<size_t>(mallinfo2().uordblks));
  }
  std::cout << "kept at most " << ((most - before) >> 20) << " MiB\n";
  EXPECT_LT(most - before, size_t{24} << 20);
}

TEST_F(SlicesTest, EarlierAlternativesDecideBetweenNodes) {
  add_node("old");
  add_node("new");
  add_node("newer");
  inventory_.apply_slice(slice_of("old", "plain", 1));
  inventory_.apply_slice(slice_of("new", "good", 1));
  inventory_.apply_slice(slice_of("newer", "good", 1));
  make({});
  api::DeviceRequest request;
  request.name = "r";
  for (const char* wish : {"good", "plain"}) {
    api::DeviceSubRequest& sub = request.first_available.emplace_back();
    sub.name = wish;
    sub.device_class_name = "any";
    sub.count = 1;
    sub.selectors = {"device.attributes[\"drv\"].name.startsWith(\"" + std::string(wish) + "\")"};
  }
  FoundNodes found = allocator_->find_nodes({{claim_of({request})}, true}, nodes_);
  ASSERT_EQ(found.decisions.size(), 1u);
  EXPECT_EQ(inventory_.node_name(found.decisions[0].node), "new");
  EXPECT_EQ(found.decisions[0].prioritized_scores, std::vector<int>{8});
  EXPECT_EQ(found.nodes_searched, 2u);  // nothing beats the first alternative
  found = allocator_->find_nodes({{claim_of({request})}, true}, nodes_, 3);
  ASSERT_EQ(found.decisions.size(), 3u);
  EXPECT_EQ(inventory_.node_name(found.decisions[2].node), "old");
  // Without alternatives the first node is taken, and no other is examined.
  found = allocator_->find_nodes({{claim_of({exactly("r", {})})}, true}, nodes_);
  ASSERT_EQ(found.decisions.size(), 1u);
  EXPECT_EQ(inventory_.node_name(found.decisions[0].node), "old");
  EXPECT_EQ(found.nodes_searched, 1u);
}

TEST(NamespaceBudgetTest, ANamespaceThatUsedItsShareWaits) {
  ManualClock clock;
  NamespaceBudget budget(&clock);
  const Duration slice = std::chrono::milliseconds(10);
  // The burst is free.
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(budget.wait("greedy"), Duration::zero());
    budget.charge("greedy", slice);
  }
  budget.charge("greedy", slice);
  // A fifth of the time: 10 ms are paid off after 50.
  EXPECT_EQ(budget.wait("greedy"), std::chrono::milliseconds(50));
  EXPECT_EQ(budget.wait("other"), Duration::zero());
  clock.advance(std::chrono::milliseconds(50));
  EXPECT_EQ(budget.wait("greedy"), Duration::zero());
}

TEST(NamespaceBudgetTest, ABillChargesWhatHappensBetweenCalls) {
  ManualClock clock;
  Inventory inventory(Features::all());
  SeededRandom random(1);
  Options options;
  options.slice = {20'000, std::chrono::milliseconds(6), &clock};
  Allocator allocator(inventory, options, random);
  for (int i = 0; i < 200; ++i) {  // together more than a namespace can save up
    const Allocator::Bill bill(allocator, "greedy"), inner(allocator, "other");
    clock.advance(std::chrono::microseconds(900));
  }
  EXPECT_EQ(allocator.share_wait("greedy"), Duration::zero()) << "short work is free";
  {
    const Allocator::Bill bill(allocator, "greedy");
    const Allocator::Bill inner(allocator, "other");
    clock.advance(std::chrono::milliseconds(150));
  }
  EXPECT_EQ(allocator.share_wait("greedy"), std::chrono::milliseconds(250));
  EXPECT_EQ(allocator.share_wait("other"), Duration::zero());
}

TEST(NamespaceBudgetTest, AllNamespacesTogetherHaveHalfOfTheTime) {
  ManualClock clock;
  NamespaceBudget budget(&clock);
  for (int i = 0; i < 30; ++i) budget.charge("n" + std::to_string(i), std::chrono::milliseconds(10));
  EXPECT_EQ(budget.wait("newcomer"), std::chrono::milliseconds(200));
  clock.advance(std::chrono::milliseconds(200));
  EXPECT_EQ(budget.wait("newcomer"), Duration::zero());
}

}  // namespace
}  // namespace dra::allocator::slices_test
