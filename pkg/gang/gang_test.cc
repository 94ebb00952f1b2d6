#include "pkg/gang/gang.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "pkg/base/clock.h"
#include "pkg/gang/cpu_nodes.h"

namespace dra::gang::gang_test {
namespace {

constexpr const char* kDriver = "gpu.example.com";

// Nodes with GPUs, and groups that want them.
class GangTest : public testing::Test {
 protected:
  GangTest() : allocator_(inventory_, {}, random_) {
    api::DeviceClass gpu;
    gpu.metadata.name = "gpu";
    gpu.selectors.push_back(std::string("device.driver == \"") + kDriver + "\"");
    inventory_.apply_class(gpu);
  }

  void add_node(const std::string& name, int gpus, const std::string& rack = "", int64_t cpu = 1000) {
    CpuNodes::Node node{inventory_.apply_node(name, {}), cpu, {}};
    if (!rack.empty()) node.labels = {{"rack", rack}, {"spine", rack.substr(0, 1)}};
    nodes_.push_back(std::move(node));
    api::ResourceSlice slice;
    slice.metadata.name = name;
    slice.driver = kDriver;
    slice.node_name = name;
    slice.pool = {name, 1, 1};
    for (int i = 0; i < gpus; ++i) slice.devices.emplace_back().name = "gpu-" + std::to_string(i);
    inventory_.apply_slice(slice);
  }

  // The node's devices carry the attribute, each with the value at its index; "": without it.
  void set_clique(const std::string& node, const std::vector<std::string>& values) {
    api::ResourceSlice slice;
    slice.metadata.name = node;
    slice.driver = kDriver;
    slice.node_name = node;
    slice.pool = {node, ++generation_, 1};
    for (size_t i = 0; i < values.size(); ++i) {
      api::Device& device = slice.devices.emplace_back();
      device.name = "gpu-" + std::to_string(i);
      if (!values[i].empty()) device.attributes["clique"] = values[i];
    }
    inventory_.apply_slice(slice);
  }

  static api::DeviceSubRequest wants(const std::string& device_class, int count) {
    api::DeviceSubRequest body;
    body.device_class_name = device_class;
    body.allocation_mode = "ExactCount";
    body.count = count;
    return body;
  }

  std::shared_ptr<const api::ResourceClaim> claim(const std::string& uid, int gpus) {
    auto made = std::make_shared<api::ResourceClaim>();
    made->metadata.name = made->metadata.uid = uid;
    made->metadata.ns = "default";
    made->spec.requests.push_back({"gpu", wants("gpu", gpus), {}});
    return made;
  }

  void add_members(int count, int gpus, int64_t cpu = 0) {
    for (int i = 0; i < count; ++i) {
      Member& member = request_.members.emplace_back();
      member.name = member.uid = "pod-" + std::to_string(request_.members.size());
      member.shape = std::to_string(gpus) + " gpus, cpu " + std::to_string(cpu);
      member.claims.push_back(claim("claim-" + std::to_string(request_.members.size()), gpus));
      cpu_.push_back(cpu);
    }
    request_.min_count = static_cast<uint32_t>(request_.members.size());
    request_.uid = request_.name = "default/group";
  }

  Decision decide(const Options& options = {}) {
    Gangs gangs(inventory_, allocator_, options);
    CpuNodes nodes(nodes_, cpu_);
    nodes.set_counted(counted_);
    Decision decision;
    do decision = gangs.decide(request_, nodes);
    while (decision.outcome == Outcome::kUnfinished && ++slices_ < 10'000);
    EXPECT_EQ(nodes.placed(), 0u);
    EXPECT_EQ(inventory_.claim_count(), held_);
    return decision;
  }

  void hold(const std::string& node, int gpu) {
    api::AllocationResult result;
    api::DeviceRequestAllocationResult& device = result.results.emplace_back();
    device.request = "gpu";
    device.driver = kDriver;
    device.pool = node;
    device.device = "gpu-" + std::to_string(gpu);
    inventory_.apply_allocation("holder-" + node + std::to_string(gpu), result);
    ++held_;
  }

  std::set<std::string> nodes_of(const Decision& decision) const {
    std::set<std::string> names;
    for (const Placed& placed : decision.members) names.insert(inventory_.node_name(placed.node));
    return names;
  }

  inventory::Inventory inventory_{inventory::Features::all()};
  SeededRandom random_{1};
  allocator::Allocator allocator_;
  std::vector<CpuNodes::Node> nodes_;
  std::vector<int64_t> cpu_;  // by member
  GangRequest request_;
  size_t held_ = 0;
  int slices_ = 0;
  int64_t generation_ = 1;
  bool counted_ = true;
};

// kubernetes/kubernetes#138765: the device is one whole or two halves; both pods prefer the whole.
TEST_F(GangTest, WholeOrTwoHalves) {
  nodes_.push_back({inventory_.apply_node("n0", {}), 1000, {}});
  api::ResourceSlice counters, devices;
  counters.driver = devices.driver = kDriver;
  counters.node_name = devices.node_name = "n0";
  counters.pool = devices.pool = {"n0", 1, 2};
  counters.metadata.name = "counters";
  devices.metadata.name = "devices";
  counters.shared_counters.push_back({"set", {{"halves", "2"}}});
  for (const auto& [name, halves] : {std::pair("whole", "2"), std::pair("half-0", "1"), std::pair("half-1", "1")}) {
    api::Device& device = devices.devices.emplace_back();
    device.name = name;
    device.attributes["size"] = std::string(halves);
    device.consumes_counters.push_back({"set", {{"halves", halves}}});
  }
  inventory_.apply_slice(counters);
  inventory_.apply_slice(devices);
  for (const std::string size : {"1", "2"}) {
    api::DeviceClass one;
    one.metadata.name = size == "1" ? "half" : "whole";
    one.selectors.push_back("device.attributes[\"" + std::string(kDriver) + "\"].size == \"" + size + "\"");
    inventory_.apply_class(one);
  }
  for (int i = 0; i < 2; ++i) {
    auto made = std::make_shared<api::ResourceClaim>();
    made->metadata.name = made->metadata.uid = "claim-" + std::to_string(i);
    api::DeviceRequest& request = made->spec.requests.emplace_back();
    request.name = "gpu";
    request.first_available = {wants("whole", 1), wants("half", 1)};
    request.first_available[0].name = "whole";
    request.first_available[1].name = "half";
    Member& member = request_.members.emplace_back();
    member.name = member.uid = "pod-" + std::to_string(i);
    member.claims.push_back(made);
    cpu_.push_back(0);
  }
  request_.min_count = 2;
  const Decision decision = decide();
  ASSERT_EQ(decision.outcome, Outcome::kFound) << decision.reason;
  std::set<std::string> taken;
  for (const ClaimResult& one : decision.claims) taken.insert(one.result.results.at(0).device);
  EXPECT_EQ(taken, (std::set<std::string>{"half-0", "half-1"}));
}

TEST_F(GangTest, LargerThanTheClusterIsNever) {
  for (int i = 0; i < 100; ++i) add_node("n" + std::to_string(i), 8);
  hold("n0", 0);
  add_members(801, 1);
  const Decision decision = decide();
  EXPECT_EQ(decision.outcome, Outcome::kImpossible);
  EXPECT_TRUE(decision.never);
  EXPECT_EQ(decision.reason, "there is room for 799 of 801 members, and too little even if all devices were free");
  EXPECT_LT(decision.steps, 5000u);
  request_.members.pop_back();
  --request_.min_count;
  const Decision smaller = decide();
  EXPECT_EQ(smaller.outcome, Outcome::kImpossible);
  EXPECT_FALSE(smaller.never);
  EXPECT_EQ(smaller.reason, "there is room for 799 of 800 members");
}

// A node without free CPU, or cordoned, accepts no member now.
TEST_F(GangTest, NodesThatTakeNobodyNowAreNotNever) {
  add_node("a", 2);
  add_node("b", 2, "", 0);
  add_members(4, 1, 1);
  const Decision decision = decide();
  EXPECT_EQ(decision.outcome, Outcome::kImpossible);
  EXPECT_FALSE(decision.never);
  EXPECT_EQ(decision.reason, "there is room for 2 of 4 members");
}

TEST_F(GangTest, BadRequestsAreNamed) {
  add_node("n0", 8, "a1");
  add_members(2, 1);
  request_.min_count = 3;
  Decision decision = decide();
  ASSERT_EQ(decision.outcome, Outcome::kError);
  EXPECT_EQ(decision.error->message(),
            "group \"default/group\": wants 3 members at once, but only 2 wait; create the missing pods or lower the "
            "minimum");
  request_.min_count = 2;
  request_.topology.levels = {"rack"};
  request_.topology.required = 7;
  EXPECT_EQ(decide().outcome, Outcome::kError);
  request_.topology.required = 0;
  request_.topology.levels = {""};
  EXPECT_EQ(decide().outcome, Outcome::kError);
  request_.topology.levels = {"no-such-label"};
  decision = decide();
  EXPECT_EQ(decision.outcome, Outcome::kImpossible);
  EXPECT_EQ(decision.reason, "no node that its members may go to has the label no-such-label");
  request_.topology.required.reset();
  request_.topology.preferred = 0;
  decision = decide();
  EXPECT_EQ(decision.outcome, Outcome::kFound);
  EXPECT_EQ(decision.unknown_levels, std::vector<std::string>{"no-such-label"});
  request_.topology = {};
  add_members(10'000, 1);
  decision = decide();
  ASSERT_EQ(decision.outcome, Outcome::kError);
  EXPECT_EQ(decision.error->code(), Code::kResourceExhausted);
}

TEST_F(GangTest, TheSmallestRackWithRoomIsTaken) {
  for (const auto& [rack, count] : {std::pair("a1", 4), std::pair("a2", 2), std::pair("b1", 1)})
    for (int i = 0; i < count; ++i) add_node(std::string(rack) + "-" + std::to_string(i), 8, rack);
  request_.topology = {{"spine", "rack"}, 1, {}};
  add_members(12, 1);
  Decision decision = decide();
  ASSERT_EQ(decision.outcome, Outcome::kFound) << decision.reason;
  EXPECT_EQ(decision.domain, "rack=a2");
  EXPECT_EQ(nodes_of(decision), (std::set<std::string>{"a2-0", "a2-1"}));
  // A rack in use has less capacity: it is filled first.
  request_.members.resize(8);
  request_.min_count = 8;
  for (int i = 0; i < 2; ++i) hold("a1-0", i);
  for (int i = 0; i < 8; ++i) hold("a1-1", i), hold("a1-2", i), hold("b1-0", i);
  EXPECT_EQ(decide().domain, "rack=a1");
  // Never wider than required, wider than preferred if need be.
  request_.members.clear();
  cpu_.clear();
  add_members(17, 1);
  decision = decide();
  EXPECT_EQ(decision.outcome, Outcome::kImpossible);
  EXPECT_EQ(decision.reason, "the largest domain of level rack (rack=a2) has room for 16 of 17 members");
  request_.topology = {{"spine", "rack"}, {}, 1};
  decision = decide();
  EXPECT_EQ(decision.outcome, Outcome::kFound);
  EXPECT_EQ(decision.domain, "spine=a");
}

TEST_F(GangTest, MembersBeyondTheMinimumJoinNearby) {
  for (int i = 0; i < 2; ++i)
    add_node("a1-" + std::to_string(i), 2, "a1"), add_node("b1-" + std::to_string(i), 8, "b1");
  request_.topology = {{"rack"}, {}, 0};
  add_members(10, 1);
  request_.min_count = 3;
  const Decision decision = decide();
  ASSERT_EQ(decision.outcome, Outcome::kFound);
  EXPECT_EQ(decision.domain, "rack=a1");
  ASSERT_EQ(decision.members.size(), 10u);
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(inventory_.node_name(decision.members[i].node).substr(0, 2), "a1");
  EXPECT_EQ(decision.claims.size(), 10u);
}

// One kind blocks another: the large ones must not be scattered.
TEST_F(GangTest, KindsMakeRoomForEachOther) {
  for (int i = 0; i < 4; ++i) add_node("n" + std::to_string(i), 8);
  add_members(24, 1);
  add_members(2, 4);
  Decision decision = decide();
  EXPECT_EQ(decision.outcome, Outcome::kFound) << decision.reason;
  add_members(1, 1);
  decision = decide();
  EXPECT_EQ(decision.outcome, Outcome::kImpossible);
  request_.members.clear();
  cpu_.clear();
  add_members(4, 1);
  add_members(5, 8);
  decision = decide();
  EXPECT_EQ(decision.outcome, Outcome::kImpossible);
  EXPECT_NE(decision.reason.find("room for 4 of 5 members like pod-5"), std::string::npos) << decision.reason;
  ASSERT_TRUE(decision.guilty);
  EXPECT_EQ(request_.members[*decision.guilty].shape, "8 gpus, cpu 0");
}

// Each kind would fit alone, and there are enough devices in sum. An exhaustive search would take forever.
TEST_F(GangTest, AMixedGroupIsRefutedByCountingItsKindsTogether) {
  for (int n = 0; n < 47; ++n) add_node("n" + std::to_string(n), 4);
  add_members(32, 3);
  add_members(32, 2);
  const Decision decision = decide();
  EXPECT_EQ(decision.outcome, Outcome::kImpossible);
  EXPECT_LT(decision.steps, 10'000u);
  EXPECT_NE(decision.reason.find("no more than 63 of 64 members"), std::string::npos) << decision.reason;
}

// CPU is what is short: for 3, or twice 2, on each node.
TEST_F(GangTest, AMixedGroupIsRefutedByCountingTheCpuOfNodes) {
  for (int n = 0; n < 47; ++n) add_node("n" + std::to_string(n), 4, "", 4);
  add_members(32, 1, 3);
  add_members(32, 1, 2);
  Decision decision = decide();
  EXPECT_EQ(decision.outcome, Outcome::kImpossible);
  EXPECT_LT(decision.steps, 10'000u);
  EXPECT_NE(decision.reason.find("no more than 63 of 64 members"), std::string::npos) << decision.reason;
  EXPECT_FALSE(decision.never) << "CPU may become free";
  add_node("one-more", 4, "", 4);
  decision = decide();
  EXPECT_EQ(decision.outcome, Outcome::kFound) << decision.reason;
}

// All members differ, and together they want more CPU than there is.
TEST_F(GangTest, ManyKindsAreCountedInSum) {
  for (int n = 0; n < 20; ++n) add_node("n" + std::to_string(n), 8, "", 100);
  int64_t wanted = 0;
  for (int kind = 0; kind < 40; ++kind) {
    add_members(1, 1, 30 + kind);
    wanted += 30 + kind;
  }
  ASSERT_EQ(wanted, 1980);
  nodes_[0].cpu = 79;
  const Decision decision = decide();
  EXPECT_EQ(decision.outcome, Outcome::kImpossible);
  EXPECT_LT(decision.steps, 20'000u);
}

// What is short is not counted, as ports of nodes: nothing is proven, and the answer comes soon.
TEST_F(GangTest, ALargeMixedGroupThatCountingDoesNotRefuteIsUndecidedSoon) {
  for (int n = 0; n < 47; ++n) add_node("n" + std::to_string(n), 4, "", 4);
  add_members(32, 1, 3);
  add_members(32, 1, 2);
  counted_ = false;
  const Decision decision = decide();
  EXPECT_EQ(decision.outcome, Outcome::kUndecided);
  EXPECT_LT(decision.steps, 150'000u);
}

TEST_F(GangTest, ASearchGoesOnWhereItsSliceEnded) {
  for (int i = 0; i < 20; ++i) add_node("n" + std::to_string(i), 8);
  add_members(100, 1);
  Options options;
  options.slice.steps = 40;
  Gangs gangs(inventory_, allocator_, options);
  CpuNodes nodes(nodes_, cpu_);
  uint32_t slices = 0;
  Decision decision;
  do {
    decision = gangs.decide(request_, nodes);
    if (++slices % 7 == 0 && decision.outcome == Outcome::kUnfinished) hold("n" + std::to_string(slices / 7), 3);
    ASSERT_LT(slices, 400u);
  } while (decision.outcome == Outcome::kUnfinished);
  ASSERT_EQ(decision.outcome, Outcome::kFound) << decision.reason;
  EXPECT_GT(slices, 10u);
  for (const ClaimResult& one : decision.claims) inventory_.assume(one.claim->metadata.uid, one.result);
  EXPECT_TRUE(inventory_.audit().empty());
}

// Two cliques of two nodes each, a node without the attribute, and one with different values.
TEST_F(GangTest, MoreKindsThanTheLimitAreRefusedByName) {
  for (int i = 0; i < 4; ++i) add_node("n" + std::to_string(i), 8);
  add_members(static_cast<int>(kMaxKinds) + 1, 1);
  request_.min_count = 2;
  EXPECT_EQ(decide().outcome, Outcome::kFound) << "they are all of one kind";
  for (Member& member : request_.members) member.shape = member.name;
  const Decision decision = decide();
  ASSERT_EQ(decision.outcome, Outcome::kError);
  const std::string text = decision.error->message();
  EXPECT_NE(text.find("\"default/group\" has 257 different kinds of members; at most 256"), std::string::npos) << text;
  EXPECT_NE(text.find("make its pods alike"), std::string::npos) << text;
  request_.members.resize(kMaxKinds);
  EXPECT_EQ(decide().outcome, Outcome::kFound);
}

TEST_F(GangTest, TheListsOfAGroupsKindsAreBounded) {
  constexpr size_t kNodes = 3'000;
  for (size_t i = 0; i < kNodes; ++i) nodes_.push_back({inventory_.apply_node("n" + std::to_string(i), {}), 1000, {}});
  add_members(static_cast<int>(kMaxKinds), 1);
  for (Member& member : request_.members) member.shape = member.name;
  const Decision decision = decide();
  ASSERT_EQ(decision.outcome, Outcome::kError);
  EXPECT_NE(decision.error->message().find("256 different kinds of members on 3000 nodes"), std::string::npos)
      << decision.error->message();
}

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
    if (decision.outcome == Outcome::kUndecided && decision.steps == 0) {
      ++answered_at_once;
      EXPECT_NE(decision.reason, "");
      EXPECT_GT(decision.ask_again, Duration::zero());
    } else {
      steps += decision.steps >= before ? decision.steps - before : decision.steps;
      before = decision.steps;
      if (decision.outcome == Outcome::kUndecided) ++undecided, before = 0;
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
    ASSERT_EQ(decision.outcome, Outcome::kUndecided);
    EXPECT_EQ(decision.ask_again, pause);
    clock_.advance(pause - std::chrono::milliseconds(1));
    EXPECT_EQ(run().steps, 0u);
    clock_.advance(std::chrono::milliseconds(1));
  }
  request_.members.resize(10);
  request_.min_count = 10;
  cpu_.resize(10);
  EXPECT_EQ(run().outcome, Outcome::kFound);
  add_members(290, 1);
  const Decision decision = run();
  ASSERT_EQ(decision.outcome, Outcome::kUndecided);
  EXPECT_EQ(decision.ask_again, Gangs::kFirstPause);
}

TEST_F(BudgetTest, WhatIsFoundForManyMembersIsReturnedByTheNextCallUnlessSomethingChanged) {
  options_.step_budget = kDefaultStepBudget;
  options_.slice = {1'000'000, std::chrono::hours(1), &clock_};
  Gangs gangs(inventory_, allocator_, options_);
  CpuNodes nodes(nodes_, cpu_);
  ASSERT_EQ(gangs.decide(request_, nodes).outcome, Outcome::kUnfinished);
  Decision found = gangs.decide(request_, nodes);
  EXPECT_EQ(found.outcome, Outcome::kFound);
  EXPECT_EQ(found.members.size(), 300u);
  EXPECT_EQ(found.slices, 1u) << "no second search";
  EXPECT_EQ(gangs.kept_bytes(), 0u);
  ASSERT_EQ(gangs.decide(request_, nodes).outcome, Outcome::kUnfinished);
  EXPECT_GT(gangs.kept_bytes(), 300u * 256);
  hold("n0", 0);
  found = gangs.decide(request_, nodes);
  EXPECT_EQ(found.outcome, Outcome::kFound) << "not kept once more";
  for (const ClaimResult& claim : found.claims)
    for (const api::DeviceRequestAllocationResult& result : claim.result.results)
      EXPECT_FALSE(result.pool == "n0" && result.device == "gpu-0");
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
  // not delay it for ever.
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
    ASSERT_EQ(found.outcome, Outcome::kFound);
    EXPECT_EQ(found.members.size(), 300u);
    EXPECT_EQ(found.claims.size(), 300u);
    if (always) {
      EXPECT_EQ(again, 5) << "after four changes in a row in one slice";
    } else {
      EXPECT_LE(again, 2) << "only members on the node that changed are looked at";
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
  ASSERT_EQ(found.outcome, Outcome::kFound);
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
  ASSERT_EQ(found.outcome, Outcome::kFound);
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
  EXPECT_EQ(sliced.outcome, Outcome::kImpossible);
  EXPECT_EQ(whole.outcome, Outcome::kImpossible);
  EXPECT_EQ(sliced.reason, whole.reason);
  EXPECT_GT(slices_, 40) << "a kind a slice at most";
}

class CliqueTest : public GangTest {
 protected:
  CliqueTest() {
    for (const char* name : {"n0", "n1", "n2", "n3", "n4", "n5"}) add_node(name, 2);
    set_clique("n0", {"a", "a"});
    set_clique("n1", {"a", ""});  // one device without it does not matter
    set_clique("n2", {"b", "b"});
    set_clique("n3", {"b", "b"});
    set_clique("n4", {"", ""});
    set_clique("n5", {"a", "b"});
    request_.topology.levels = {"attribute:gpu.example.com/clique"};
  }
};

TEST_F(CliqueTest, ARequiredAttributeIsADomain) {
  add_members(4, 1);
  request_.topology.required = 0;
  hold("n1", 0);
  Decision decision = decide();
  ASSERT_EQ(decision.outcome, Outcome::kFound) << decision.reason;
  EXPECT_EQ(nodes_of(decision), (std::set<std::string>{"n2", "n3"}));
  EXPECT_EQ(decision.domain, "attribute:gpu.example.com/clique=\"b\"");
  hold("n2", 0);
  decision = decide();
  EXPECT_EQ(decision.outcome, Outcome::kImpossible) << "n4 and n5 have fits, and are in no clique";
  EXPECT_NE(decision.reason.find("clique"), std::string::npos) << decision.reason;
  EXPECT_FALSE(decision.never);
}

TEST_F(CliqueTest, APreferredAttributeIsLeftWhenTheDomainsAreTooSmall) {
  add_members(3, 1);
  request_.topology.preferred = 0;
  Decision decision = decide();
  ASSERT_EQ(decision.outcome, Outcome::kFound) << decision.reason;
  EXPECT_EQ(decision.level, 0u);
  request_.members.clear();
  cpu_.clear();
  add_members(5, 1);
  decision = decide();
  ASSERT_EQ(decision.outcome, Outcome::kFound) << decision.reason;
  EXPECT_FALSE(decision.level) << decision.domain;
}

TEST_F(CliqueTest, AnAttributeThatNoDeviceHasIsAReasonOrIgnored) {
  add_members(2, 1);
  request_.topology.levels = {"attribute:gpu.example.com/nothing"};
  request_.topology.required = 0;
  Decision decision = decide();
  EXPECT_EQ(decision.outcome, Outcome::kImpossible);
  EXPECT_NE(decision.reason.find("has one value of the device attribute gpu.example.com/nothing"), std::string::npos)
      << decision.reason;
  request_.topology.required.reset();
  request_.topology.preferred = 0;
  decision = decide();
  EXPECT_EQ(decision.outcome, Outcome::kFound);
  EXPECT_EQ(decision.unknown_levels, std::vector<std::string>{"attribute:gpu.example.com/nothing"});
}

TEST_F(CliqueTest, LabelsAndAttributesAreLevelsTogether) {
  // The rack around a clique is part of its identity: "b" in two racks is two domains.
  nodes_[2].labels["rack"] = "r1";
  nodes_[3].labels["rack"] = "r2";
  request_.topology.levels = {"rack", "attribute:gpu.example.com/clique"};
  request_.topology.required = 1;
  add_members(4, 1);
  const Decision decision = decide();
  ASSERT_EQ(decision.outcome, Outcome::kFound) << decision.reason;
  EXPECT_EQ(nodes_of(decision), (std::set<std::string>{"n0", "n1"}));
}

}  // namespace
}  // namespace dra::gang::gang_test
