// What a group's search may take: slices, budgets, what is kept between slices, and what a change makes void.
#include <algorithm>

#include "pkg/gang/gang_fixture.h"

namespace dra::gang::gang_test {
namespace {

// Groups of a few thousand steps each, on a clock.
class BudgetTest : public GangTest {
 protected:
  static constexpr uint64_t kBudget = 2'000;

  BudgetTest() {
    for (int i = 0; i < 40; ++i) add_node("n" + std::to_string(i), 8);
    options_.step_budget = kBudget;
    options_.slice = {200, std::chrono::milliseconds(5), &clock_};
    add_members(300, 1);
  }
  // The tenant edits a claim: the store has a new object.
  void edit() { request_.members[0].claims[0] = claim("claim-1", 1); }

  ManualClock clock_;
  Options options_;
};

TEST_F(BudgetTest, EditsDoNotRenewIt) {
  Gangs gangs(inventory_, allocator_, options_);
  CpuNodes nodes(nodes_, cpu_);
  uint64_t steps = 0, before = 0;
  size_t undecided = 0, answered_at_once = 0;
  constexpr auto kLasts = std::chrono::minutes(10);
  for (Duration at{}; at < kLasts; at += std::chrono::milliseconds(500)) {
    edit();
    const Decision decision = gangs.decide(request_, nodes);
    if (decision.outcome == Outcome::kBudgetSpent && decision.steps == 0) {
      ++answered_at_once;
      EXPECT_NE(decision.reason, "");
      EXPECT_GT(decision.ask_again, Duration::zero());
    } else {
      steps += decision.steps >= before ? decision.steps - before : decision.steps;
      before = decision.steps;
      if (decision.outcome == Outcome::kBudgetSpent) ++undecided, before = 0;
    }
    clock_.advance(std::chrono::milliseconds(500));
  }
  // Pauses of 1, 2, 4, ... 64 s: 6 of them are over after 63 s, then one a minute.
  EXPECT_GE(undecided, 8u);
  EXPECT_LE(undecided, 16u);
  EXPECT_LE(steps, undecided * kBudget * 2);
  EXPECT_GT(answered_at_once, 1000u);
}

TEST_F(BudgetTest, AnAnswerRestoresIt) {
  Gangs gangs(inventory_, allocator_, options_);
  CpuNodes nodes(nodes_, cpu_);
  const auto run = [&] {
    Decision decision;
    do decision = gangs.decide(request_, nodes);
    while (decision.outcome == Outcome::kUnfinished);
    return decision;
  };
  Duration pause = Gangs::kFirstPause;
  for (int i = 0; i < 9; ++i, pause = std::min(2 * pause, Gangs::kLongestPause)) {
    const Decision decision = run();
    ASSERT_EQ(decision.outcome, Outcome::kBudgetSpent);
    EXPECT_EQ(decision.ask_again, pause);
    clock_.advance(pause - std::chrono::milliseconds(1));
    EXPECT_EQ(run().steps, 0u);
    clock_.advance(std::chrono::milliseconds(1));
  }
  request_.members.resize(10);
  request_.min_count = 10;
  cpu_.resize(10);
  EXPECT_EQ(run().outcome, Outcome::kFeasible);
  add_members(290, 1);
  const Decision decision = run();
  ASSERT_EQ(decision.outcome, Outcome::kBudgetSpent);
  EXPECT_EQ(decision.ask_again, Gangs::kFirstPause);
}

TEST_F(BudgetTest, WhatIsFoundForManyMembersIsReturnedByTheNextCallUnlessSomethingChanged) {
  options_.step_budget = kDefaultStepBudget;
  options_.slice = {1'000'000, std::chrono::hours(1), &clock_};
  Gangs gangs(inventory_, allocator_, options_);
  CpuNodes nodes(nodes_, cpu_);
  ASSERT_EQ(gangs.decide(request_, nodes).outcome, Outcome::kUnfinished);
  Decision found = gangs.decide(request_, nodes);
  EXPECT_EQ(found.outcome, Outcome::kFeasible);
  EXPECT_EQ(found.members.size(), 300u);
  EXPECT_EQ(found.slices, 1u) << "no second search";
  EXPECT_EQ(gangs.kept_bytes(), 0u);
  ASSERT_EQ(gangs.decide(request_, nodes).outcome, Outcome::kUnfinished);
  EXPECT_GT(gangs.kept_bytes(), 300u * 256);
  for (int device = 0; device < 3; ++device) {
    hold("n0", device);
    ASSERT_EQ(gangs.decide(request_, nodes).outcome, Outcome::kUnfinished) << "placed again, and kept again";
    EXPECT_TRUE(gangs.has_found(request_.uid));
  }
  hold("n0", 3);
  found = gangs.decide(request_, nodes);
  EXPECT_EQ(found.outcome, Outcome::kFeasible) << "in the end it is written at once";
  for (const ClaimResult& claim : found.claims)
    for (const api::DeviceRequestAllocationResult& result : claim.result.results)
      EXPECT_FALSE(result.pool == "n0" && result.device < "gpu-4");
}

// Every look at it is 20 microseconds later.
class TickingClock : public ManualClock {
 public:
  MonoTime mono_now() const override { return now_ += std::chrono::microseconds(20); }

 private:
  mutable MonoTime now_{};
};

TEST_F(BudgetTest, WhatTheTaskHasTakenShortensItsSlice) {
  TickingClock ticking;
  options_.step_budget = kDefaultStepBudget;
  options_.slice = {1'000'000, std::chrono::microseconds(90), &ticking};
  CpuNodes nodes(nodes_, cpu_);
  const auto steps_of_first = [&](Duration spent) {
    Gangs gangs(inventory_, allocator_, options_);
    const Decision decision = gangs.decide(request_, nodes, spent);
    EXPECT_EQ(decision.outcome, Outcome::kUnfinished);
    return decision.steps;
  };
  const uint64_t whole = steps_of_first({});
  const uint64_t third = steps_of_first(std::chrono::microseconds(60));
  EXPECT_LT(third, whole);
  EXPECT_GT(third, 0u);
  EXPECT_EQ(steps_of_first(std::chrono::hours(1)), third) << "a third remains, so that the search ends";
}

// Otherwise a group whose search takes many slices would never be decided in a cluster that changes all the time.
TEST_F(BudgetTest, AChangeAfterASearchOfManySlicesDoesNotBeginItAgain) {
  options_.step_budget = kDefaultStepBudget;
  for (Member& member : request_.members) member.shape = "one";
  Gangs gangs(inventory_, allocator_, options_);
  CpuNodes nodes(nodes_, cpu_);
  int slices = 0;
  while (!gangs.has_found(request_.uid) && ++slices < 1'000)
    ASSERT_EQ(gangs.decide(request_, nodes).outcome, Outcome::kUnfinished);
  ASSERT_GT(slices, 5);
  // Where a change concerns every node, placing the members again also takes several slices. One in each of them does
  // not delay it forever.
  for (const bool always : {false, true}) {
    SCOPED_TRACE(always);
    while (!gangs.has_found(request_.uid)) ASSERT_EQ(gangs.decide(request_, nodes).outcome, Outcome::kUnfinished);
    int again = 0;
    Decision found;
    do {
      if (always) inventory_.apply_node("n0", {{"change", std::to_string(again)}});
      if (again == 0) hold("n0", always ? 1 : 0);
      found = gangs.decide(request_, nodes);
      EXPECT_EQ(gangs.has_found(request_.uid), found.outcome == Outcome::kUnfinished);
    } while (++again < slices && found.outcome == Outcome::kUnfinished);
    ASSERT_EQ(found.outcome, Outcome::kFeasible);
    EXPECT_EQ(found.members.size(), 300u);
    EXPECT_EQ(found.claims.size(), 300u);
    if (always) {
      EXPECT_EQ(again, 20) << "four times, found in one slice after four changes in a row";
    } else {
      EXPECT_LE(again, 2) << "only members on the node that changed are examined";
    }
    for (const ClaimResult& claim : found.claims)
      for (const api::DeviceRequestAllocationResult& result : claim.result.results)
        EXPECT_FALSE(result.pool == "n0" && result.device == (always ? "gpu-1" : "gpu-0"));
  }
}

TEST_F(BudgetTest, MembersOfANodeThatLostItsRoomArePlacedElsewhere) {
  options_.step_budget = kDefaultStepBudget;
  for (Member& member : request_.members) member.shape = "one";
  Gangs gangs(inventory_, allocator_, options_);
  CpuNodes nodes(nodes_, std::vector<int64_t>(cpu_.size(), 1));
  while (!gangs.has_found(request_.uid)) ASSERT_EQ(gangs.decide(request_, nodes).outcome, Outcome::kUnfinished);
  nodes.take(0, nodes.nodes()[0].cpu - 1);
  Decision found;
  int again = 0;
  do found = gangs.decide(request_, nodes);
  while (++again < 100 && found.outcome == Outcome::kUnfinished);
  ASSERT_EQ(found.outcome, Outcome::kFeasible);
  EXPECT_EQ(found.members.size(), 300u);
  EXPECT_LE(again, 2);
  EXPECT_LE(std::count_if(found.members.begin(), found.members.end(),
                          [&](const Placed& placed) { return placed.node == nodes.nodes()[0].id; }),
            1);
}

// What the last slices found out is of another state, and placing the members again comes later.
TEST_F(BudgetTest, AfterAChangeASliceCanEndBeforeTheSearchBegins) {
  options_.step_budget = kDefaultStepBudget;
  options_.slice.steps = 1;
  for (size_t i = 0; i < request_.members.size(); ++i) request_.members[i].shape = std::to_string(i % 20);
  Gangs gangs(inventory_, allocator_, options_);
  CpuNodes nodes(nodes_, cpu_);
  while (!gangs.has_found(request_.uid)) ASSERT_EQ(gangs.decide(request_, nodes).outcome, Outcome::kUnfinished);
  hold("n0", 0);
  Decision found;
  for (int slices = 0; slices < 1'000; ++slices)
    if (found = gangs.decide(request_, nodes); found.outcome != Outcome::kUnfinished) break;
  ASSERT_EQ(found.outcome, Outcome::kFeasible);
  EXPECT_EQ(found.claims.size(), 300u);
  for (const ClaimResult& claim : found.claims)
    for (const api::DeviceRequestAllocationResult& result : claim.result.results)
      EXPECT_FALSE(result.pool == "n0" && result.device == "gpu-0");
}

TEST_F(BudgetTest, WhatIsKeptIsBoundedAndTheGreediestNamespaceLosesIt) {
  options_.step_budget = kDefaultStepBudget;
  Gangs gangs(inventory_, allocator_, options_);
  CpuNodes nodes(nodes_, cpu_);
  for (Member& member : request_.members) member.shape = "one";
  GangRequest modest = request_;
  modest.uid = modest.ns = "modest";
  ASSERT_EQ(gangs.decide(modest, nodes).outcome, Outcome::kUnfinished);
  request_.ns = "greedy";
  for (size_t i = 0; i < 4 * Gangs::kMaxKept; ++i) {
    request_.uid = "group-" + std::to_string(i);
    ASSERT_EQ(gangs.decide(request_, nodes).outcome, Outcome::kUnfinished);
    EXPECT_LE(gangs.kept_bytes(), Gangs::kMaxKeptBytes);
  }
  EXPECT_EQ(gangs.decide(modest, nodes).slices, 2u) << "it goes on";
  request_.uid = "group-0";
  EXPECT_EQ(gangs.decide(request_, nodes).slices, 1u) << "it starts over";
}

TEST_F(BudgetTest, ManySmallDomainsAreCountedInSlices) {
  for (int i = 40; i < 600; ++i) add_node("n" + std::to_string(i), 1 + i % 3);
  for (size_t i = 0; i < nodes_.size(); ++i) nodes_[i].labels["host"] = "h" + std::to_string(i);
  request_.members.resize(40);
  cpu_.resize(40);
  for (size_t i = 0; i < request_.members.size(); ++i) request_.members[i].shape = std::to_string(i);
  request_.min_count = 40;
  request_.topology.levels = {"host"};
  request_.topology.required = 0;
  const Decision whole = decide();
  options_.step_budget = kDefaultStepBudget;
  options_.slice.steps = 128;
  slices_ = 0;
  const Decision sliced = decide(options_);
  EXPECT_EQ(sliced.outcome, Outcome::kInfeasible);
  EXPECT_EQ(whole.outcome, Outcome::kInfeasible);
  EXPECT_EQ(sliced.reason, whole.reason);
  EXPECT_GT(slices_, 40) << "a kind a slice at most";
}

}  // namespace
}  // namespace dra::gang::gang_test
