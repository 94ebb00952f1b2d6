// Whose pods are touched, and P1 of the protocol (docs/design/arbitration.md): what is allocated, and what is reported
// when nothing fits.
#include <nlohmann/json.hpp>

#include "controllers/allocation/allocation_fixture.h"
#include "pkg/base/timestamp.h"

namespace dra::allocation::allocation_test {

using namespace protocol;
using namespace reconcile;
using namespace std::chrono_literals;
using Json = nlohmann::json;

using Allocation = AllocationTest;

// ---- which pods are ours

TEST_F(Allocation, OnlyOptedInPodsAreTouched) {
  struct Case {
    const char* name;
    Mode mode;
    void (*change)(api::Pod&);
    Role role;
  };
  const Case cases[] = {
      {"our gate, the last one", Mode::kGate, [](api::Pod&) {}, Role::kGated},
      {"no gate", Mode::kGate, [](api::Pod& p) { p.scheduling_gates.clear(); }, Role::kNone},
      {"another gate beside ours", Mode::kGate, [](api::Pod& p) { p.scheduling_gates.push_back("a/b"); }, Role::kNone},
      {"finished", Mode::kGate, [](api::Pod& p) { p.phase = "Failed"; }, Role::kNone},
      {"deleted", Mode::kGate, [](api::Pod& p) { p.metadata.deletion_timestamp = "2026"; }, Role::kNone},
      {"bound", Mode::kGate, [](api::Pod& p) { p.node_name = "n1"; }, Role::kNone},
      {"gated in bind mode", Mode::kBind, [](api::Pod&) {}, Role::kGated},
      {"our scheduler in bind mode", Mode::kBind,
       [](api::Pod& p) {
         p.scheduling_gates.clear();
         p.scheduler_name = "ours";
       },
       Role::kToBind},
      {"another scheduler in bind mode", Mode::kBind,
       [](api::Pod& p) {
         p.scheduling_gates.clear();
         p.scheduler_name = "default-scheduler";
       },
       Role::kNone},
      {"our scheduler in gate mode", Mode::kGate,
       [](api::Pod& p) {
         p.scheduling_gates.clear();
         p.scheduler_name = "ours";
       },
       Role::kNone},
      {"bound by others in bind mode", Mode::kBind, [](api::Pod& p) { p.node_name = "n1"; }, Role::kBoundBare},
      {"observe", Mode::kObserve, [](api::Pod& p) { p.scheduling_gates.clear(); }, Role::kExplain},
  };
  for (const Case& c : cases) {
    api::Pod pod = make_pod("p", {"c"});
    c.change(pod);
    options.mode = c.mode;
    EXPECT_EQ(role_of(pod, options), c.role) << c.name;
  }
}

// ---- P1

TEST_F(Allocation, AllocatesAndReservesInOneWrite) {
  view.put(make_pod("p", {"c"}));
  put(make_claim("c"));
  ASSERT_EQ(pass(), "allocate c");
  const Json status = body()["status"];
  EXPECT_EQ(status["allocation"]["devices"]["results"][0]["device"], "gpu-0");
  EXPECT_EQ(
      status["allocation"]["nodeSelector"],
      Json::parse(
          R"({"nodeSelectorTerms":[{"matchFields":[{"key":"metadata.name","operator":"In","values":["n1"]}]}]})"));
  EXPECT_EQ(status["allocation"]["allocationTimestamp"], format_rfc3339(view.time));
  EXPECT_EQ(status["reservedFor"], Json::parse(R"([{"resource":"pods","name":"p","uid":"p-uid"}])"));
  EXPECT_EQ(body()["metadata"], Json::parse(R"({"uid":"c-uid","resourceVersion":"5"})"));
  EXPECT_EQ(write().field_manager, kAllocationManager);
  ASSERT_TRUE(write().assume);
  ASSERT_TRUE(write().assume_pod);
  EXPECT_EQ(write().assume_pod->node, "n1");
  EXPECT_EQ(write().on_success.at(0).value, 2);
}

TEST_F(Allocation, AllClaimsOfAPodGoToOneNode) {
  quiet_claims = true;
  view.put(make_pod("p", {"c", "d"}));
  put(make_claim("c"));
  put(make_claim("d", 2));
  allocated("x", "n1", "gpu-0", false, {});
  EXPECT_EQ(pass(), "event FailedAllocation, parked") << "n1 has one device left and n2 two, three are wanted";
  put(make_claim("d", 1));
  ASSERT_EQ(pass(), "allocate c, allocate d");
  EXPECT_EQ(body(0)["status"]["allocation"]["devices"]["results"][0]["pool"], "n2");
  EXPECT_EQ(body(1)["status"]["allocation"]["devices"]["results"][0]["pool"], "n2");
}

TEST_F(Allocation, WhatIsAllocatedElsewhereDecidesTheNode) {
  view.put(make_pod("p", {"c", "theirs"}));
  put(make_claim("c"));
  allocated("theirs", "n2", "gpu-0", false, {});
  ASSERT_EQ(pass(), "allocate c");
  EXPECT_EQ(body()["status"]["allocation"]["devices"]["results"][0]["pool"], "n2");
}

TEST_F(Allocation, WaitsForClaimsWithoutANoise) {
  api::Pod pod = make_pod("p", {});
  pod.resource_claims.push_back({"gpu", std::nullopt, "tpl"});
  view.put(pod);
  EXPECT_EQ(pass(), "") << "not created yet: its arrival wakes the pod";
  pod.resource_claim_statuses = {{"gpu", "c"}};
  view.put(pod);
  EXPECT_EQ(pass(), "");
  put(make_claim("c"));
  EXPECT_EQ(pass(), "event FailedAllocation") << "not controlled by the pod";
  view.put(make_pod("p", {"missing"}));
  EXPECT_EQ(pass(), "event FailedAllocation");
  EXPECT_NE(event().note.find("\"missing\""), std::string::npos);
}

TEST_F(Allocation, WhatDoesNotFitParksWithItsReasonAndIsSaidOnce) {
  view.put(make_pod("p", {"c"}));
  put(make_claim("c", 3));
  ASSERT_EQ(pass(), "event FailedAllocation, event FailedAllocation, parked") << "about the pod and about the claim";
  EXPECT_EQ(
      event().note,
      "no node can provide 3 x gpu: never fits, as no node has more than 2 of the 4 devices of class gpu, 4 usable");
  EXPECT_NE(std::find(last.park->causes.begin(), last.park->causes.end(), "class/gpu"), last.park->causes.end());
  remember();
  EXPECT_EQ(pass(), "parked");
}

// Retries in vain while the figures keep changing and the causes rarely do: only a new cause is reported.
TEST_F(Allocation, RetriesSayNothingUntilTheCauseChanges) {
  view.put(make_pod("p", {"c"}));
  put(make_claim("c", 3));
  pass();
  remember();
  for (int round = 0; round < 20; ++round) EXPECT_EQ(pass(), "parked");
  allocated("x", "n1", "gpu-0", false, {});
  ASSERT_EQ(pass(), "event FailedAllocation, event FailedAllocation, parked");
  EXPECT_EQ(
      event().note,
      "no node can provide 3 x gpu: never fits, as no node has more than 2 of the 4 devices of class gpu, 3 usable, "
      "1 in use by claim default/x");
  remember();
  for (const char* device : {"gpu-1", "gpu-0"}) {
    allocated(std::string("y-") + device, device == std::string("gpu-1") ? "n1" : "n2", device, false, {});
    EXPECT_EQ(pass(), "parked") << "one more in use is no news";
  }
  nodes.refused = {"n1", "n2"};
  ASSERT_EQ(pass(), "event FailedScheduling, parked");
  remember();
  EXPECT_EQ(pass(), "parked");
  nodes.refused = {};
  EXPECT_EQ(pass(), "parked") << "the same reason as before";
}

TEST_F(Allocation, TheFirstPodSpeaksForASharedClaim) {
  view.put(make_pod("a", {"c"}));
  view.put(make_pod("b", {"c"}));
  put(make_claim("c", 3));
  EXPECT_EQ(pass("b"), "event FailedAllocation, parked");
  EXPECT_EQ(pass("a"), "event FailedAllocation, event FailedAllocation, parked");
}

TEST_F(Allocation, AMissingClassIsWaitedFor) {
  api::ResourceClaim claim = make_claim("c");
  claim.spec.requests[0].exactly->device_class_name = "tpu";
  view.put(make_pod("p", {"c"}));
  put(claim);
  ASSERT_EQ(pass(), "event FailedAllocation, event FailedAllocation, parked");
  EXPECT_NE(event().note.find("device class \"tpu\" does not exist"), std::string::npos) << event().note;
  EXPECT_NE(std::find(last.park->causes.begin(), last.park->causes.end(), "class/tpu"), last.park->causes.end());
  remember();
  EXPECT_EQ(pass(), "parked");
  api::DeviceClass tpu;
  tpu.metadata.name = "tpu";
  inventory.apply_class(tpu);
  EXPECT_EQ(pass(), "allocate c");
}

// The claim at fault gets the event, even where the message quotes a sibling's name.
TEST_F(Allocation, OnlyTheGuiltyClaimIsBlamed) {
  api::ResourceClaim guilty = make_claim("d");
  guilty.spec.requests[0].exactly->selectors = {"device.driver == \"default/c\" &&"};
  view.put(make_pod("p", {"c", "d"}));
  put(make_claim("c"));
  put(guilty);
  ASSERT_EQ(pass(), "event FailedAllocation, event FailedAllocation, parked");
  ASSERT_NE(event().note.find("\"default/c\""), std::string::npos) << event().note;
  std::vector<std::string> blamed;
  for (const Effect& effect : last.effects)
    if (const Event* event = std::get_if<Event>(&effect)) blamed.push_back(event->regarding.name);
  EXPECT_EQ(blamed, (std::vector<std::string>{"p", "d"}));
}

TEST_F(Allocation, NoNodeForThePodItself) {
  view.put(make_pod("p", {"c"}));
  put(make_claim("c"));
  nodes.refused = {"n1", "n2"};
  ASSERT_EQ(pass(), "event FailedScheduling, parked");
  EXPECT_EQ(event().note, "0/2 nodes are available: 2 Insufficient cpu.");
  EXPECT_EQ(last.park->causes, (std::vector<Cause>{"nodes", "capacity"}));
}

}  // namespace dra::allocation::allocation_test
