// Strategies against brute force: best-fit finds the optimum of its objective, is never worse than first-fit, and does
// not depend on the names of slices. DRA_SEED and DRA_CASES choose other worlds.
#include <gtest/gtest.h>

#include <iostream>
#include <set>

#include "test/allocharness/contest.h"
#include "test/oracle/checker.h"
#include "test/oracle/exhaustive.h"
#include "test/oracle/generator.h"
#include "test/oracle/objective.h"
#include "test/support/environment.h"

namespace dra::allocharness::strategy_test {
namespace {

// Worlds in which every pool is complete, as objective() requires.
oracle::World world_of(uint64_t seed) {
  oracle::Ingredients with;
  with.odd_pools = with.taints = with.selector_errors = with.limits = with.gates_off = false;
  with.max_claims = 2;
  with.max_devices = 6;
  return oracle::random_world(seed, with);
}

struct Answer {
  allocator::Outcome outcome;
  std::string node;
  std::vector<api::AllocationResult> results;
  std::string devices;
};

Answer answer(const oracle::World& world, allocator::Strategy strategy) {
  allocator::Options options;
  options.strategy = strategy;
  auto contest = Contest::make(world, options);
  EXPECT_TRUE(contest);
  const allocator::FoundNodes found = (*contest)->allocator().find_nodes((*contest)->request(), (*contest)->nodes());
  Answer out{found.outcome, "", {}, ""};
  if (found.decisions.empty()) return out;
  out.node = (*contest)->inventory().node_name(found.decisions[0].node);
  out.results = found.decisions[0].results;
  // Results list a request's devices in the order of slices, so they are compared as a set.
  std::multiset<std::string> devices;
  for (size_t c = 0; c < out.results.size(); ++c)
    for (const api::DeviceRequestAllocationResult& one : out.results[c].results)
      devices.insert(std::to_string(c) + "/" + one.request + "=" + one.driver + "/" + one.pool + "/" + one.device +
                     " ");
  for (const std::string& device : devices) out.devices += device;
  return out;
}

oracle::Objective objective_of(const oracle::World& world, const Answer& found) {
  for (const api::Node& node : world.nodes) {
    if (node.metadata.name != found.node) continue;
    const oracle::Scene scene = oracle::build_scene(world, node);
    return oracle::objective(scene, oracle::picks_of(scene, found.results));
  }
  ADD_FAILURE() << "no node " << found.node;
  return {};
}

// Nothing if there are too many solutions to enumerate.
std::optional<std::optional<oracle::Objective>> optimum(const oracle::World& world) {
  std::optional<oracle::Objective> best;
  for (const api::Node& node : world.nodes) {
    const oracle::Scene scene = oracle::build_scene(world, node);
    uint64_t solutions = 0;
    const bool all = oracle::for_each_solution(scene, 20'000, [&](const std::vector<oracle::Pick>& picks) {
      if (++solutions > 2000) return;
      const oracle::Objective cost = oracle::objective(scene, picks);
      if (!best || cost < *best) best = cost;
    });
    if (!all || solutions > 2000) return std::nullopt;
  }
  return best;
}

TEST(Strategy, BestFitIsTheOptimumOfItsObjective) {
  const uint64_t seed = test::number_from("DRA_SEED", 1), cases = test::number_from("DRA_CASES", 500);
  std::cout << cases << " worlds from seed " << seed << "\n";
  uint64_t judged = 0, better = 0;
  for (uint64_t i = 0; i < cases; ++i) {
    const oracle::World world = world_of(seed * 1'000'000 + i);
    const auto best = optimum(world);
    if (!best) continue;
    const Answer ours = answer(world, allocator::Strategy::kBestFit);
    ASSERT_EQ(ours.outcome == allocator::Outcome::kFeasible, best->has_value()) << "world " << seed * 1'000'000 + i;
    if (!*best) continue;
    ++judged;
    EXPECT_EQ(oracle::broken_rule(world, ours.node, ours.results), "") << "world " << seed * 1'000'000 + i;
    const oracle::Objective cost = objective_of(world, ours);
    ASSERT_EQ(cost.text(), (*best)->text())
        << "world " << seed * 1'000'000 + i << ": " << ours.node << " " << ours.devices << "\n"
        << oracle::write_case(world);
    better += cost < objective_of(world, answer(world, allocator::Strategy::kFirstFit));
  }
  std::cout << judged << " judged, in " << better << " better than first-fit\n";
  EXPECT_GT(judged, cases / 4);
  EXPECT_GT(better, cases / 50);
}

// The choices of plain packing and spreading are valid, and they find a solution exactly when first-fit does.
TEST(Strategy, PackAndSpreadFindWhatFirstFitFinds) {
  for (uint64_t seed = 0; seed < test::number_from("DRA_CASES", 500); ++seed) {
    const oracle::World world = world_of(seed);
    const Answer first = answer(world, allocator::Strategy::kFirstFit);
    for (const auto strategy : {allocator::Strategy::kPack, allocator::Strategy::kSpread}) {
      const Answer ours = answer(world, strategy);
      ASSERT_EQ(ours.outcome, first.outcome) << "world " << seed;
      if (!ours.results.empty()) {
        EXPECT_EQ(oracle::broken_rule(world, ours.node, ours.results), "") << "world " << seed;
      }
    }
  }
}

TEST(Strategy, NamesOfSlicesDoNotMatter) {
  for (uint64_t seed = 0; seed < test::number_from("DRA_CASES", 500); ++seed) {
    oracle::World world = world_of(seed);
    for (const auto strategy :
         {allocator::Strategy::kBestFit, allocator::Strategy::kPack, allocator::Strategy::kSpread}) {
      const Answer before = answer(world, strategy);
      oracle::World renamed = world;
      size_t number = renamed.slices.size();
      for (api::ResourceSlice& slice : renamed.slices) slice.metadata.name = "s" + std::to_string(100 + --number);
      const Answer after = answer(renamed, strategy);
      EXPECT_EQ(before.node + " " + before.devices, after.node + " " + after.devices) << "world " << seed;
    }
  }
}

}  // namespace
}  // namespace dra::allocharness::strategy_test
