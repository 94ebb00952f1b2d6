// Devices that are one piece of silicon under several names, with everything else at once: every decision against the
// exhaustive search, in both strategies. DRA_SEED picks another start, DRA_IDENTITY_CASES another number of worlds.
#include <gtest/gtest.h>

#include <iostream>

#include "test/allocharness/contest.h"
#include "test/allocharness/judge.h"
#include "test/oracle/checker.h"
#include "test/oracle/exhaustive.h"
#include "test/oracle/generator.h"
#include "test/support/environment.h"

namespace dra::allocharness::identity_test {
namespace {

oracle::World world_of(uint64_t seed) {
  return oracle::with_identities(oracle::random_world(seed), seed);
}

TEST(IdentityWorlds, AgreeWithTheOracle) {
  const uint64_t first = test::number_from("DRA_SEED", 1), cases = test::number_from("DRA_IDENTITY_CASES", 2'000);
  std::cout << "worlds with identities from seed " << first << ", " << cases << " of them\n";
  uint64_t undecided = 0, fit = 0, wrong_without = 0;
  for (uint64_t seed = first; seed < first + cases; ++seed) {
    const oracle::World world = world_of(seed);
    bool unknown = false;
    ASSERT_EQ(difference(world, &unknown), "") << "seed " << seed << "\n" << oracle::write_case(world);
    undecided += unknown;
    allocator::Options options;
    options.strategy = allocator::Strategy::kBestFit;
    auto contest = Contest::make(world, options);
    ASSERT_TRUE(contest) << seed;
    const allocator::FoundNodes found = (*contest)->allocator().find_nodes((*contest)->request(), (*contest)->nodes());
    const oracle::Solution verdict = oracle::solve(world, 50'000);
    if (verdict.answer == oracle::Answer::kFeasible) {
      ASSERT_EQ(found.outcome, allocator::Outcome::kFeasible) << "seed " << seed;
    } else if (verdict.answer == oracle::Answer::kInfeasible) {
      ASSERT_EQ(found.outcome, allocator::Outcome::kInfeasible) << "seed " << seed;
    }
    if (found.outcome == allocator::Outcome::kFeasible) {
      ++fit;
      ASSERT_EQ(oracle::broken_rule(world, (*contest)->inventory().node_name(found.decisions.at(0).node),
                                    found.decisions.at(0).results),
                "")
          << "seed " << seed;
    }
    // In some worlds the verdict is another one without identities (7 of 1,250).
    if (seed % 8 != 0) continue;
    oracle::World plain = world;
    for (api::ResourceSlice& slice : plain.slices)
      for (api::Device& device : slice.devices)
        std::erase_if(device.attributes, [](const auto& one) {
          return one.first.ends_with("pciBusID") || one.first.ends_with("serial") || one.first.ends_with("number") ||
                 one.first.ends_with("above") || one.first.ends_with("bus");
        });
    plain.recorded.clear();
    wrong_without += oracle::solve(plain, 50'000).answer != verdict.answer;
  }
  EXPECT_GT(fit, cases / 8);
  EXPECT_LT(undecided, cases / 20 + 1);
  EXPECT_GE(wrong_without, cases / 2'000);
  std::cout << fit << " fit, " << undecided << " too big for the oracle, " << wrong_without << " of " << cases / 8
            << " have another answer without identities\n";
}

}  // namespace
}  // namespace dra::allocharness::identity_test
