// Random small clusters against the twin that tries every set. DRA_PREEMPT_WORLDS: how many; DRA_PREEMPT_SEED: the
// first.
#include <gtest/gtest.h>

#include "pkg/preempt/preempt.h"
#include "pkg/preempt/testing/build.h"
#include "pkg/preempt/testing/twin.h"
#include "test/support/environment.h"

namespace dra::preempt {
namespace {

using testing::Built;
using testing::Model;

std::vector<int> as_ints(const std::vector<uint32_t>& pods) {
  return {pods.begin(), pods.end()};
}

std::string text_of(const std::vector<double>& rank) {
  std::string out;
  for (const double one : rank) out += " " + std::to_string(one);
  return out;
}

// How the answer differs from the twin's; "" if it does not.
std::string difference(const Model& model, const testing::TwinAnswer& twin, Built& built) {
  const Answer answer = model.kind == Kind::kMoves ? who_must_move(built.world()) : who_must_go(built.world());
  if (answer.verdict != twin.verdict)
    return "verdict " + std::to_string(static_cast<int>(answer.verdict)) + ", the twin says " +
           std::to_string(static_cast<int>(twin.verdict));
  const std::vector<int> pods = as_ints(answer.pods);
  if (twin.verdict == Verdict::kEvict && testing::rank_of(model, pods) != twin.rank)
    return "rank" + text_of(testing::rank_of(model, pods)) + ", the twin says" + text_of(twin.rank);
  if (answer.fixed != twin.fixed) return "fixed by the promise, or not";
  if (twin.verdict == Verdict::kNever || answer.fixed) return "";
  std::map<int, int> places;
  std::map<int, std::vector<int>> devices;
  for (const auto& [pod, node] : answer.placements) places[Built::number_in(pod)] = Built::number_in(node);
  for (const auto& [claim, allocation] : answer.allocations)
    devices[Built::number_in(claim)] = built.devices_of(allocation);
  if (twin.verdict == Verdict::kFits)
    if (std::string why = wrong_placement(model, pods, false, places, devices); !why.empty()) return "now: " + why;
  return wrong_placement(model, pods, true, places, devices);
}

TEST(PreemptProperty, TheAnswerIsTheTwins) {
  const uint64_t worlds = test::number_from("DRA_PREEMPT_WORLDS", 500),
                 first = test::number_from("DRA_PREEMPT_SEED", 1);
  std::map<Verdict, int> verdicts;
  for (uint64_t seed = first; seed < first + worlds; ++seed) {
    const Model model = testing::random_model(seed);
    const testing::TwinAnswer twin = testing::slow_answer(model);
    ++verdicts[twin.verdict];
    Built built(model);
    const std::string why = difference(model, twin, built);
    ASSERT_EQ(why, "") << "DRA_PREEMPT_SEED=" << seed;
    // Everything was restored: the same question has the same answer, and the inventory audits clean.
    ASSERT_TRUE(built.devices().audit().empty()) << "DRA_PREEMPT_SEED=" << seed;
    ASSERT_EQ(difference(model, twin, built), "") << "a second time, DRA_PREEMPT_SEED=" << seed;
  }
  for (const auto& [verdict, number] : verdicts) RecordProperty(std::to_string(static_cast<int>(verdict)), number);
  if (worlds < 500) return;
  for (const Verdict verdict : {Verdict::kFits, Verdict::kWait, Verdict::kEvict, Verdict::kNever})
    EXPECT_GT(verdicts[verdict], static_cast<int>(worlds / 100)) << static_cast<int>(verdict);
}

}  // namespace
}  // namespace dra::preempt
