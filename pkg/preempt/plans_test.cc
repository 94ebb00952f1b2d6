// Moves that were written down: a plan is judged as it was made, and whom it names leaves in an order in which none
// waits. DRA_PREEMPT_WORLDS: how many random clusters; DRA_PREEMPT_SEED: the first.
#include <gtest/gtest.h>

#include <algorithm>

#include "pkg/base/random.h"
#include "pkg/preempt/order.h"
#include "pkg/preempt/preempt.h"
#include "pkg/preempt/testing/build.h"
#include "pkg/preempt/testing/twin.h"
#include "test/support/environment.h"

namespace dra::preempt::plans_test {
namespace {

using testing::Built;
using testing::Model;

Promise plan_of(const World& world, const Answer& answer) {
  Promise plan;
  plan.moves = true;
  plan.placements = answer.placements;
  plan.allocations = answer.allocations;
  for (const uint32_t pod : answer.pods) plan.victims.push_back(world.pods[pod].object->metadata.key());
  return plan;
}

// Whether the pods can leave in this order, by the twin's rules: when each has left, its place and those of the ones
// before it are there, and the others are where they were.
bool works(const Model& model, const Built& built, const Answer& answer, const std::vector<uint32_t>& order) {
  std::vector<int> gone;
  std::map<int, int> places;
  std::map<int, std::vector<int>> devices;
  for (const uint32_t pod : order) {
    const int number = static_cast<int>(pod);
    gone.push_back(number);
    places[number] = Built::number_in(answer.placements.at("ns/p" + std::to_string(pod)));
    for (const int claim : model.pods[pod].claims)
      if (const auto given = answer.allocations.find("ns/c" + std::to_string(claim)); given != answer.allocations.end())
        devices[claim] = built.devices_of(given->second);
    const std::string why = testing::wrong_placement(model, gone, true, places, devices);
    if (!why.empty() && why != "too few of the pending pods have a place") return false;
  }
  return true;
}

bool shares_claims(const Model& model, const std::vector<uint32_t>& pods) {
  return std::any_of(pods.begin(), pods.end(), [&](uint32_t pod) {
    return std::any_of(model.pods[pod].claims.begin(), model.pods[pod].claims.end(),
                       [&](int claim) { return model.claims[claim].pods.size() > 1; });
  });
}

TEST(MovePlans, StandAsTheyWereMade) {
  const uint64_t worlds = test::number_from("DRA_PREEMPT_WORLDS", 500),
                 first = test::number_from("DRA_PREEMPT_SEED", 1);
  size_t plans = 0, ordered = 0, without = 0;
  for (uint64_t seed = first; seed < first + worlds; ++seed) {
    SCOPED_TRACE("DRA_PREEMPT_SEED=" + std::to_string(seed));
    Model model = testing::random_model(seed);
    model.kind = Kind::kMoves;
    model.promises.clear();
    if (seed % 4 != 0) {  // most may move
      model.budgets.clear();
      for (testing::ModelPod& pod : model.pods) {
        pod.owned = true, pod.kept = pod.mirror = pod.foreign = false, pod.group = -1;
        if (pod.node >= 0) pod.priority = 0, pod.terminates = false;
      }
    }
    Built built(model);
    World& world = built.world();
    const Answer made = who_must_move(world);
    if (made.verdict != Verdict::kEvict) continue;
    ++plans;
    world.promises.push_back(plan_of(world, made));
    const Answer again = who_must_move(world);
    ASSERT_EQ(again.verdict, Verdict::kEvict);
    EXPECT_TRUE(again.fixed && again.own_stands);
    EXPECT_EQ(again.pods, made.pods);
    EXPECT_EQ(again.placements, made.placements);
    EXPECT_EQ(again.harm, made.harm);
    ASSERT_TRUE(built.devices().audit().empty());
    world.promises.clear();

    // Pods that share a claim come together: what the one before them left is not free for them until all have left.
    if (shares_claims(model, made.pods)) continue;
    std::vector<uint32_t> any = made.pods;
    bool possible = false;
    do {
      possible = possible || works(model, built, made, any);
    } while (!possible && std::next_permutation(any.begin(), any.end()));
    const std::vector<uint32_t> order = order_of_moves(world, made);
    EXPECT_EQ(!order.empty(), possible);
    if (order.empty()) {
      ++without;
    } else {
      ++ordered;
      EXPECT_TRUE(std::is_permutation(order.begin(), order.end(), made.pods.begin(), made.pods.end()));
      EXPECT_TRUE(works(model, built, made, order));
    }
    ASSERT_TRUE(built.devices().audit().empty());
    EXPECT_EQ(who_must_move(world).placements, made.placements) << "everything was restored";
  }
  RecordProperty("plans", static_cast<int>(plans));
  RecordProperty("without", static_cast<int>(without));
  std::printf("%zu plans, %zu in an order, %zu in none\n", plans, ordered, without);
  if (worlds >= 500) {
    EXPECT_GT(ordered, worlds / 50);
  }
}

Model two_nodes(int cpu) {
  Model model;
  model.cpu = {cpu, cpu};
  model.cordoned = {false, false};
  model.kind = Kind::kMoves;
  return model;
}

int add_pod(Model& model, int cpu, int node, int priority = 0) {
  testing::ModelPod pod;
  pod.priority = priority;
  pod.cpu = cpu;
  pod.node = node;
  model.pods.push_back(pod);
  return static_cast<int>(model.pods.size()) - 1;
}

// Its places are taken for a pod of the same priority, also those that its pods have still to free.
TEST(MovePlans, BindOthers) {
  Model model = two_nodes(6);
  const int moving = add_pod(model, 3, 0), staying = add_pod(model, 3, 1);
  const int wide = add_pod(model, 6, -1), late = add_pod(model, 3, -1);
  model.pending = {wide};
  Built built(model);
  World& world = built.world();
  const Answer made = who_must_move(world);
  ASSERT_EQ(made.verdict, Verdict::kEvict);
  ASSERT_EQ(made.pods.size(), 1u);
  EXPECT_TRUE(made.pods[0] == static_cast<uint32_t>(moving) || made.pods[0] == static_cast<uint32_t>(staying));
  EXPECT_EQ(order_of_moves(world, made), made.pods);
  world.promises.push_back(plan_of(world, made));
  world.pending = {static_cast<uint32_t>(late)};
  EXPECT_EQ(who_must_move(world).verdict, Verdict::kNever);
  EXPECT_EQ(who_must_go(world).verdict, Verdict::kNever);
}

// Two that change their places: each waits for the other.
TEST(MovePlans, TwoThatChangePlacesHaveNoOrder) {
  Model model = two_nodes(6);
  const int a = add_pod(model, 4, 0), b = add_pod(model, 4, 1);
  model.pending = {add_pod(model, 2, -1)};
  Built built(model);
  Answer exchange;
  exchange.pods = {static_cast<uint32_t>(a), static_cast<uint32_t>(b)};
  exchange.placements = {{"ns/p0", "n1"}, {"ns/p1", "n0"}};
  EXPECT_TRUE(order_of_moves(built.world(), exchange).empty());
  EXPECT_TRUE(with_a_free_place(built.world(), exchange, exchange.pods).empty());
  exchange.placements["ns/p1"] = "n1";  // it stays: then there is room for neither
  EXPECT_TRUE(order_of_moves(built.world(), exchange).empty());
}

// One goes where the other was: only after it.
TEST(MovePlans, WhoFreesAPlaceGoesFirst) {
  Model model = two_nodes(6);
  model.cpu.push_back(6);
  model.cordoned.push_back(false);
  const int a = add_pod(model, 4, 0), b = add_pod(model, 4, 1);
  model.pending = {add_pod(model, 6, -1)};
  Built built(model);
  Answer chain;
  chain.pods = {static_cast<uint32_t>(a), static_cast<uint32_t>(b)};
  chain.placements = {{"ns/p0", "n1"}, {"ns/p1", "n2"}};
  EXPECT_EQ(order_of_moves(built.world(), chain), (std::vector<uint32_t>{1, 0}));
  EXPECT_EQ(with_a_free_place(built.world(), chain, {0, 1}), (std::vector<uint32_t>{1}));
}

}  // namespace
}  // namespace dra::preempt::plans_test
