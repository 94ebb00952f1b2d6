// Mixes of MIG partitions on one node of eight GPUs: every mix is decided in bounded steps, and with first-fit the
// decision is the first in upstream's order. bench/mig measures the times.
#include "test/allocharness/mig.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>

#include "test/allocharness/contest.h"

namespace dra::allocharness::mig_test {
namespace {

// With each strategy: decided as the model says, in at most this many steps. A step takes half a microsecond at most.
void decide_all(allocator::Strategy strategy, int mixes, uint64_t most_allowed) {
  const char* given = std::getenv("DRA_SEED");
  const uint64_t seed = given ? std::strtoull(given, nullptr, 10) : 1;
  constexpr int kInFull = 25;  // every this many-th mix is compared device by device
  SeededRandom random(seed);
  MigFeasibility feasible;
  uint64_t most_steps = 0;
  int fitting = 0;
  for (int i = 0; i < mixes; ++i) {
    const MigMix mix = random_mig_mix(random);
    allocator::Options options;
    options.strategy = strategy;
    auto contest = Contest::make(world_of(mix), options);
    ASSERT_TRUE(contest) << contest.error().message();
    const allocator::FoundNodes found = (*contest)->allocator().find_nodes((*contest)->request(), (*contest)->nodes());
    most_steps = std::max(most_steps, found.steps);
    const bool fits = feasible(mix.node, mix.counts());
    fitting += fits;
    ASSERT_EQ(found.outcome, fits ? allocator::Outcome::kFeasible : allocator::Outcome::kInfeasible)
        << "seed " << seed << ", mix " << i << ", steps " << found.steps;
    if (!fits || i % kInFull != 0 || strategy != allocator::Strategy::kFirstFit) continue;
    std::vector<std::string> devices;
    for (const auto& result : found.decisions.at(0).results.at(0).results) devices.push_back(result.device);
    EXPECT_EQ(devices, first_fit(mix, feasible)) << "seed " << seed << ", mix " << i;
  }
  std::cout << mixes << " mixes from seed " << seed << ", " << fitting << " fit; most steps " << most_steps << "\n";
  EXPECT_GT(fitting, mixes / 5);
  EXPECT_LT(fitting, mixes * 4 / 5);
  EXPECT_LT(most_steps, most_allowed);
}

// DRA_ALLOCATOR_CASES below its default (property_test.cc) asks for fewer.
int mixes_of(int whole) {
  const char* given = std::getenv("DRA_ALLOCATOR_CASES");
  return given ? std::clamp(static_cast<int>(std::strtol(given, nullptr, 10) * whole / 20'000), whole / 5, whole)
               : whole;
}

TEST(MigMixes, AreAllDecidedAsUpstreamWould) {
  decide_all(allocator::Strategy::kFirstFit, mixes_of(1500), 200'000);
}
TEST(MigMixes, AreAllDecidedWithBestFit) {
  decide_all(allocator::Strategy::kBestFit, mixes_of(300), 200'000);
}

}  // namespace
}  // namespace dra::allocharness::mig_test
