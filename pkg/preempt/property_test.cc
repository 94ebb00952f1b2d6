// Random small clusters against the twin that tries every set. DRA_PREEMPT_WORLDS: how many; DRA_PREEMPT_SEED: the
// first.
#include <gtest/gtest.h>

#include "pkg/base/random.h"
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

// A group of equal pods, for whom victims are counted (counted.h).
Model with_equal_pods(uint64_t seed) {
  Model model = testing::random_model(seed);
  model.kind = Kind::kVictims;
  model.promises.clear();
  testing::ModelPod pod = model.pods[static_cast<size_t>(model.pending.front())];
  pod.cpu = 1 + static_cast<int>(seed % 2);
  pod.only = -1;
  pod.group = static_cast<int>(model.groups.size());
  const size_t number = 2 + seed % 2;
  model.groups.push_back({static_cast<int>(number), false});
  // The others wait no longer.
  for (const int other : model.pending) model.pods[static_cast<size_t>(other)].group = -1;
  model.pending.clear();
  for (size_t i = 0; i < number; ++i) {
    testing::ModelClaim claim;
    claim.kind = seed % 5 == 0 ? testing::DeviceKind::kPartition : testing::DeviceKind::kGpu;
    claim.size = seed % 5 == 0 ? 2 : 0;
    pod.claims = {static_cast<int>(model.claims.size())};
    model.claims.push_back(claim);
    model.pending.push_back(static_cast<int>(model.pods.size()));
    model.pods.push_back(pod);
  }
  return model;
}

TEST(PreemptProperty, OfEqualPodsTheAnswerIsTheTwins) {
  const uint64_t worlds = test::number_from("DRA_PREEMPT_WORLDS", 200),
                 first = test::number_from("DRA_PREEMPT_SEED", 1);
  std::map<Verdict, int> verdicts;
  for (uint64_t seed = first; seed < first + worlds; ++seed) {
    const Model model = with_equal_pods(seed);
    const testing::TwinAnswer twin = testing::slow_answer(model);
    ++verdicts[twin.verdict];
    Built built(model);
    ASSERT_EQ(difference(model, twin, built), "") << "DRA_PREEMPT_SEED=" << seed;
    ASSERT_TRUE(built.devices().audit().empty()) << "DRA_PREEMPT_SEED=" << seed;
  }
  if (worlds < 200) return;
  EXPECT_GT(verdicts[Verdict::kEvict], static_cast<int>(worlds / 20));
}

// The number of the first one.
int add_cards(Model& model, int node, int count) {
  const int first = static_cast<int>(model.devices.size());
  for (int i = first; i < first + count; ++i)
    model.devices.push_back({"card-" + std::to_string(i), testing::DeviceKind::kGpu, node, i, 0, 24});
  return first;
}

// Nodes whose GPUs are nearly all held, and a pod that wants some: moves help if enough are free in all (pooled.h).
Model with_nearly_full_nodes(uint64_t seed) {
  SeededRandom random(seed);
  const auto between = [&random](int low, int high) {
    return low + static_cast<int>(random.below(static_cast<uint64_t>(high - low + 1)));
  };
  Model model;
  model.kind = Kind::kMoves;
  const int nodes = between(2, 3), gpus = between(2, 3);
  for (int node = 0; node < nodes; ++node) {
    model.cpu.push_back(9);
    model.cordoned.push_back(random.below(8) == 0);
    const int first = add_cards(model, node, gpus);
    for (int at = 0; at < gpus;) {
      const int count = between(1, std::min(2, gpus - at)), begin = at;
      at += count;
      if (random.below(4) == 0) continue;  // free
      testing::ModelPod pod;
      pod.node = node;
      pod.cpu = 1;
      pod.owned = random.below(8) != 0;
      pod.terminates = random.below(12) == 0;
      testing::ModelClaim claim;
      claim.count = count;
      for (int i = 0; i < count; ++i) claim.devices.push_back(first + begin + i);
      claim.pods = {static_cast<int>(model.pods.size())};
      claim.stranger = random.below(12) == 0;
      pod.claims = {static_cast<int>(model.claims.size())};
      model.claims.push_back(claim);
      model.pods.push_back(pod);
    }
  }
  testing::ModelPod asks;
  asks.priority = 10 * between(-1, 1);
  testing::ModelClaim claim;
  claim.count = between(1, gpus);
  asks.claims = {static_cast<int>(model.claims.size())};
  model.claims.push_back(claim);
  model.pending = {static_cast<int>(model.pods.size())};
  model.pods.push_back(asks);
  return model;
}

TEST(PreemptProperty, WhereDevicesAreScarceTheAnswerIsTheTwinsAndNeverIsSaidByCounting) {
  const uint64_t worlds = test::number_from("DRA_PREEMPT_WORLDS", 300),
                 first = test::number_from("DRA_PREEMPT_SEED", 1);
  std::map<Verdict, int> verdicts;
  int counted = 0;
  for (uint64_t seed = first; seed < first + worlds; ++seed) {
    const Model model = with_nearly_full_nodes(seed);
    const testing::TwinAnswer twin = testing::slow_answer(model);
    ++verdicts[twin.verdict];
    Built built(model);
    ASSERT_EQ(difference(model, twin, built), "") << "DRA_PREEMPT_SEED=" << seed;
    if (twin.verdict == Verdict::kNever && who_must_move(built.world()).checks <= 2) ++counted;
  }
  if (worlds < 300) return;
  EXPECT_GT(verdicts[Verdict::kEvict], static_cast<int>(worlds / 50));
  EXPECT_GT(counted, static_cast<int>(worlds / 10));
}

// Nodes with the same pods, or nearly, whose budgets cover pods of several nodes, and a group of equal pods.
Model with_alike_nodes(uint64_t seed) {
  SeededRandom random(seed);
  const auto between = [&random](int low, int high) {
    return low + static_cast<int>(random.below(static_cast<uint64_t>(high - low + 1)));
  };
  Model model;
  const int nodes = between(2, 4), gpus = between(2, 3);
  std::vector<testing::ModelPod> pods;
  std::vector<int> sizes;
  for (int left = gpus; left > 0 && pods.size() < 3; left -= sizes.back()) {
    testing::ModelPod& pod = pods.emplace_back();
    pod.priority = 10 * between(0, 1);
    pod.start = 60 * between(1, 2);
    pod.app = between(0, 2);
    sizes.push_back(between(1, left));
  }
  for (int node = 0; node < nodes; ++node) {
    model.cpu.push_back(9);
    model.cordoned.push_back(false);
    const int first = add_cards(model, node, gpus);
    int at = first;
    for (size_t i = 0; i < pods.size(); ++i) {
      testing::ModelPod pod = pods[i];
      pod.node = node;
      if (random.below(4) == 0) pod.app = between(0, 2);
      if (random.below(4) == 0) pod.start += 60;
      if (random.below(6) == 0) pod.priority += 10;
      testing::ModelClaim claim;
      claim.count = sizes[i];
      for (int size = sizes[i]; size > 0; --size) claim.devices.push_back(at++);
      claim.pods.push_back(static_cast<int>(model.pods.size()));
      pod.claims.push_back(static_cast<int>(model.claims.size()));
      model.claims.push_back(claim);
      model.pods.push_back(pod);
    }
  }
  for (int i = between(1, 3); i > 0; --i) model.budgets.push_back({between(0, 2), between(0, 2)});
  const int members = between(2, 3), asked = between(1, gpus);
  model.groups.push_back({members, false});
  for (int i = 0; i < members; ++i) {
    testing::ModelPod pod;
    pod.priority = 100;
    pod.group = 0;
    pod.claims.push_back(static_cast<int>(model.claims.size()));
    testing::ModelClaim claim;
    claim.count = asked;
    model.claims.push_back(claim);
    model.pending.push_back(static_cast<int>(model.pods.size()));
    model.pods.push_back(pod);
  }
  return model;
}

// Counting alone decides: the tree of sets would ask more.
TEST(PreemptProperty, OfAlikeNodesTheAnswerIsTheTwins) {
  const uint64_t worlds = test::number_from("DRA_PREEMPT_WORLDS", 200),
                 first = test::number_from("DRA_PREEMPT_SEED", 1);
  uint64_t evicting = 0, broken = 0;
  for (uint64_t seed = first; seed < first + worlds; ++seed) {
    const Model model = with_alike_nodes(seed);
    const testing::TwinAnswer twin = testing::slow_answer(model);
    Built built(model);
    ASSERT_EQ(difference(model, twin, built), "") << "DRA_PREEMPT_SEED=" << seed;
    const Answer answer = who_must_go(built.world());
    if (answer.verdict != Verdict::kEvict) continue;
    ++evicting;
    broken += answer.harm.violations > 0 ? 1 : 0;
    EXPECT_LE(answer.checks, 3u) << "DRA_PREEMPT_SEED=" << seed;
  }
  if (worlds < 200) return;
  EXPECT_GT(evicting, worlds / 4);
  EXPECT_GT(broken, worlds / 20);
}

}  // namespace
}  // namespace dra::preempt
