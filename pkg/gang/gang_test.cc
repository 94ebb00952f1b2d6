#include "pkg/gang/gang.h"

#include "pkg/gang/gang_fixture.h"

namespace dra::gang::gang_test {
namespace {

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
  ASSERT_EQ(decision.outcome, Outcome::kFeasible) << decision.reason;
  std::set<std::string> taken;
  for (const ClaimResult& one : decision.claims) taken.insert(one.result.results.at(0).device);
  EXPECT_EQ(taken, (std::set<std::string>{"half-0", "half-1"}));
}

TEST_F(GangTest, LargerThanTheClusterIsNever) {
  for (int i = 0; i < 100; ++i) add_node("n" + std::to_string(i), 8);
  hold("n0", 0);
  add_members(801, 1);
  const Decision decision = decide();
  EXPECT_EQ(decision.outcome, Outcome::kInfeasible);
  EXPECT_TRUE(decision.never);
  EXPECT_EQ(decision.reason, "there is room for 799 of 801 members, and too little even if all devices were free");
  EXPECT_LT(decision.steps, 5000u);
  request_.members.pop_back();
  --request_.min_count;
  const Decision smaller = decide();
  EXPECT_EQ(smaller.outcome, Outcome::kInfeasible);
  EXPECT_FALSE(smaller.never);
  EXPECT_EQ(smaller.reason, "there is room for 799 of 800 members");
}

// A node without free CPU, or cordoned, accepts no member now.
TEST_F(GangTest, NodesThatTakeNobodyNowAreNotNever) {
  add_node("a", 2);
  add_node("b", 2, "", 0);
  add_members(4, 1, 1);
  const Decision decision = decide();
  EXPECT_EQ(decision.outcome, Outcome::kInfeasible);
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
  EXPECT_EQ(decision.outcome, Outcome::kInfeasible);
  EXPECT_EQ(decision.reason, "no node that its members may go to has the label no-such-label");
  request_.topology.required.reset();
  request_.topology.preferred = 0;
  decision = decide();
  EXPECT_EQ(decision.outcome, Outcome::kFeasible);
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
  ASSERT_EQ(decision.outcome, Outcome::kFeasible) << decision.reason;
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
  EXPECT_EQ(decision.outcome, Outcome::kInfeasible);
  EXPECT_EQ(decision.reason, "the largest domain of level rack (rack=a2) has room for 16 of 17 members");
  request_.topology = {{"spine", "rack"}, {}, 1};
  decision = decide();
  EXPECT_EQ(decision.outcome, Outcome::kFeasible);
  EXPECT_EQ(decision.domain, "spine=a");
}

TEST_F(GangTest, MembersBeyondTheMinimumJoinNearby) {
  for (int i = 0; i < 2; ++i)
    add_node("a1-" + std::to_string(i), 2, "a1"), add_node("b1-" + std::to_string(i), 8, "b1");
  request_.topology = {{"rack"}, {}, 0};
  add_members(10, 1);
  request_.min_count = 3;
  const Decision decision = decide();
  ASSERT_EQ(decision.outcome, Outcome::kFeasible);
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
  EXPECT_EQ(decision.outcome, Outcome::kFeasible) << decision.reason;
  add_members(1, 1);
  decision = decide();
  EXPECT_EQ(decision.outcome, Outcome::kInfeasible);
  request_.members.clear();
  cpu_.clear();
  add_members(4, 1);
  add_members(5, 8);
  decision = decide();
  EXPECT_EQ(decision.outcome, Outcome::kInfeasible);
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
  EXPECT_EQ(decision.outcome, Outcome::kInfeasible);
  EXPECT_LT(decision.steps, 10'000u);
  EXPECT_NE(decision.reason.find("no more than 63 of 64 members"), std::string::npos) << decision.reason;
}

// CPU is what is short: for 3, or twice 2, on each node.
TEST_F(GangTest, AMixedGroupIsRefutedByCountingTheCpuOfNodes) {
  for (int n = 0; n < 47; ++n) add_node("n" + std::to_string(n), 4, "", 4);
  add_members(32, 1, 3);
  add_members(32, 1, 2);
  Decision decision = decide();
  EXPECT_EQ(decision.outcome, Outcome::kInfeasible);
  EXPECT_LT(decision.steps, 10'000u);
  EXPECT_NE(decision.reason.find("no more than 63 of 64 members"), std::string::npos) << decision.reason;
  EXPECT_FALSE(decision.never) << "CPU may become free";
  add_node("one-more", 4, "", 4);
  decision = decide();
  EXPECT_EQ(decision.outcome, Outcome::kFeasible) << decision.reason;
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
  EXPECT_EQ(decision.outcome, Outcome::kInfeasible);
  EXPECT_LT(decision.steps, 20'000u);
}

// What is short is not counted, as ports of nodes: nothing is proven, and the answer comes soon.
TEST_F(GangTest, ALargeMixedGroupThatCountingDoesNotRefuteIsUndecidedSoon) {
  for (int n = 0; n < 47; ++n) add_node("n" + std::to_string(n), 4, "", 4);
  add_members(32, 1, 3);
  add_members(32, 1, 2);
  counted_ = false;
  const Decision decision = decide();
  EXPECT_EQ(decision.outcome, Outcome::kBudgetSpent);
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
  ASSERT_EQ(decision.outcome, Outcome::kFeasible) << decision.reason;
  EXPECT_GT(slices, 10u);
  for (const ClaimResult& one : decision.claims) inventory_.assume(one.claim->metadata.uid, one.result);
  EXPECT_TRUE(inventory_.audit().empty());
}

// Two cliques of two nodes each, a node without the attribute, and one with different values.
TEST_F(GangTest, MoreKindsThanTheLimitAreRefusedByName) {
  for (int i = 0; i < 4; ++i) add_node("n" + std::to_string(i), 8);
  add_members(static_cast<int>(kMaxKinds) + 1, 1);
  request_.min_count = 2;
  EXPECT_EQ(decide().outcome, Outcome::kFeasible) << "they are all of one kind";
  for (Member& member : request_.members) member.shape = member.name;
  const Decision decision = decide();
  ASSERT_EQ(decision.outcome, Outcome::kError);
  const std::string text = decision.error->message();
  EXPECT_NE(text.find("\"default/group\" has 257 different kinds of members; at most 256"), std::string::npos) << text;
  EXPECT_NE(text.find("make its pods alike"), std::string::npos) << text;
  request_.members.resize(kMaxKinds);
  EXPECT_EQ(decide().outcome, Outcome::kFeasible);
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
  ASSERT_EQ(decision.outcome, Outcome::kFeasible) << decision.reason;
  EXPECT_EQ(nodes_of(decision), (std::set<std::string>{"n2", "n3"}));
  EXPECT_EQ(decision.domain, "attribute:gpu.example.com/clique=\"b\"");
  hold("n2", 0);
  decision = decide();
  EXPECT_EQ(decision.outcome, Outcome::kInfeasible) << "n4 and n5 have fits, and are in no clique";
  EXPECT_NE(decision.reason.find("clique"), std::string::npos) << decision.reason;
  EXPECT_FALSE(decision.never);
}

TEST_F(CliqueTest, APreferredAttributeIsLeftWhenTheDomainsAreTooSmall) {
  add_members(3, 1);
  request_.topology.preferred = 0;
  Decision decision = decide();
  ASSERT_EQ(decision.outcome, Outcome::kFeasible) << decision.reason;
  EXPECT_EQ(decision.level, 0u);
  request_.members.clear();
  cpu_.clear();
  add_members(5, 1);
  decision = decide();
  ASSERT_EQ(decision.outcome, Outcome::kFeasible) << decision.reason;
  EXPECT_FALSE(decision.level) << decision.domain;
}

TEST_F(CliqueTest, AnAttributeThatNoDeviceHasIsAReasonOrIgnored) {
  add_members(2, 1);
  request_.topology.levels = {"attribute:gpu.example.com/nothing"};
  request_.topology.required = 0;
  Decision decision = decide();
  EXPECT_EQ(decision.outcome, Outcome::kInfeasible);
  EXPECT_NE(decision.reason.find("has one value of the device attribute gpu.example.com/nothing"), std::string::npos)
      << decision.reason;
  request_.topology.required.reset();
  request_.topology.preferred = 0;
  decision = decide();
  EXPECT_EQ(decision.outcome, Outcome::kFeasible);
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
  ASSERT_EQ(decision.outcome, Outcome::kFeasible) << decision.reason;
  EXPECT_EQ(nodes_of(decision), (std::set<std::string>{"n0", "n1"}));
}

}  // namespace
}  // namespace dra::gang::gang_test
