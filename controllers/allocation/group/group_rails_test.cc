// Members of a group on the same rails: placed so, joined so, and never marked otherwise (G9).
#include <nlohmann/json.hpp>

#include "controllers/allocation/allocation_fixture.h"
#include "pkg/alignment/alignment.h"
#include "pkg/base/timestamp.h"
#include "pkg/protocol/groups.h"

namespace dra::allocation {

using namespace protocol;
using namespace reconcile;

namespace {

class GroupRailsTest : public AllocationTest {
 protected:
  GroupRailsTest() {
    quiet_claims = true;
    for (const char* node : {"n1", "n2"}) publish(node, {0, 1});
  }

  // Device "gpu-<i>" is on rail rails[i]; below 0: on none.
  void publish(const std::string& node, const std::vector<int64_t>& rails) {
    api::ResourceSlice slice = test::local_slice("gpu.example.com", node, "gpu-", rails.size());
    for (size_t i = 0; i < rails.size(); ++i)
      if (rails[i] >= 0) slice.devices[i].attributes["rail.test/rail"] = rails[i];
    inventory.apply_slice(slice);
  }

  api::Pod member(const std::string& name, const std::string& annotation = "") {
    api::Pod pod = make_pod(name, {"c" + name});
    pod.metadata.creation_timestamp = "2026-01-01T00:00:0" + std::to_string(name[0] - 'a') + "Z";
    pod.metadata.owner_references.push_back({"batch/v1", "Job", "train", "job-uid", true});
    pod.metadata.annotations[std::string(kGroupAnnotation)] = "2";
    pod.metadata.annotations[std::string(alignment::kRailsAnnotation)] =
        annotation.empty() ? "c" + name + "/gpu by rail.test/rail" : annotation;
    return pod;
  }
  api::ResourceClaim hold(const std::string& name, const std::string& node, const std::string& device) {
    api::ResourceClaim claim = allocated("c" + name, node, device, true, {name});
    claim.status.allocation->allocation_timestamp = format_rfc3339(view.time);
    put(claim);
    return claim;
  }
  // Runs there with the device, marked.
  void run(const std::string& name, const std::string& node, const std::string& device) {
    api::Pod pod = member(name);
    pod.scheduling_gates.clear();
    pod.node_name = node;
    pod.phase = "Running";
    view.put(pod);
    proven(hold(name, node, device), name);
  }
  void wait_for_devices(const std::string& name) {
    view.put(member(name));
    put(make_claim("c" + name));
  }
  std::vector<std::string> decided() const {
    std::vector<std::string> devices;
    for (const Effect& effect : last.effects)
      if (const Write* one = std::get_if<Write>(&effect); one && one->assume)
        for (const auto& result : one->assume->results) devices.push_back(result.pool + "/" + result.device);
    return devices;
  }
  std::string said() const {
    for (const Effect& effect : last.effects)
      if (const Event* one = std::get_if<Event>(&effect); one && one->regarding.kind == Kind::kPod) return one->note;
    return "";
  }
};

// First-fit alone would take n1/gpu-1 and n2/gpu-0.
TEST_F(GroupRailsTest, MembersAreDecidedOnTheSameRail) {
  allocated("other", "n1", "gpu-0", false, {});
  wait_for_devices("a");
  wait_for_devices("b");
  EXPECT_EQ(pass("a"), "allocate ca, allocate cb");
  std::vector<std::string> devices = decided();
  std::sort(devices.begin(), devices.end());
  EXPECT_EQ(devices, (std::vector<std::string>{"n1/gpu-1", "n2/gpu-1"}));
}

TEST_F(GroupRailsTest, WithoutACommonRailTheyWait) {
  allocated("other", "n1", "gpu-0", false, {});
  allocated("another", "n2", "gpu-1", false, {});
  wait_for_devices("a");
  wait_for_devices("b");
  EXPECT_EQ(pass("a").find("allocate"), std::string::npos);
  EXPECT_NE(said().find("rail.test/rail"), std::string::npos) << said();
}

TEST_F(GroupRailsTest, AMalformedAnnotationMakesAllWait) {
  wait_for_devices("b");
  view.put(member("a", "ca/gpu by"));
  put(make_claim("ca"));
  const std::string did = pass("a");
  EXPECT_NE(did.find("FailedAllocation"), std::string::npos) << did;
  EXPECT_EQ(did.find("allocate"), std::string::npos) << did;
  EXPECT_NE(said().find("ca/gpu by"), std::string::npos) << said();
}

// kube-controller-manager has not made the claim of "c" yet: its annotation is not wrong.
TEST_F(GroupRailsTest, AMemberWhoseClaimsAreBeingMadeKeepsNobodyWaiting) {
  wait_for_devices("a");
  wait_for_devices("b");
  view.put(member("c"));
  EXPECT_EQ(pass("a"), "allocate ca, allocate cb");
}

TEST_F(GroupRailsTest, AJoinerFitsThoseWhoRun) {
  run("a", "n1", "gpu-1");
  wait_for_devices("b");
  EXPECT_EQ(pass("b"), "allocate cb");
  EXPECT_EQ(decided(), std::vector<std::string>{"n2/gpu-1"});
}

TEST_F(GroupRailsTest, AJoinerWaitsWhereItsRailIsNotFree) {
  run("a", "n1", "gpu-1");
  allocated("other", "n2", "gpu-1", false, {});
  wait_for_devices("b");
  EXPECT_EQ(pass("b").find("allocate"), std::string::npos);
  EXPECT_NE(said().find("same rails of rail.test/rail"), std::string::npos) << said();
}

// A slice came late, or another leader decided it beside somebody who has ended.
TEST_F(GroupRailsTest, AnAllocationOnAnotherRailIsWithdrawnUnmarked) {
  run("a", "n1", "gpu-1");
  view.put(member("b"));
  hold("b", "n2", "gpu-0");
  const std::string did = pass("b");
  EXPECT_NE(did.find("withdraw cb"), std::string::npos) << did;
  EXPECT_EQ(did.find("prove"), std::string::npos) << did;
}

TEST_F(GroupRailsTest, AnAllocationOnTheSameRailIsMarked) {
  run("a", "n1", "gpu-1");
  view.put(member("b"));
  hold("b", "n2", "gpu-1");
  EXPECT_EQ(pass("b"), "prove cb");
}

// A driver takes devices in use out of its slices: what was written with the mark counts.
TEST_F(GroupRailsTest, ADeviceThatIsNoLongerPublishedCountsByItsMark) {
  const std::string mark = "dra-controller-manager/rails";
  run("a", "n1", "gpu-1");
  view.put(member("b"));
  hold("b", "n2", "gpu-1");
  EXPECT_EQ(pass("b"), "prove cb");
  const std::string written = body()["metadata"]["annotations"][mark].get<std::string>();
  EXPECT_NE(written.find(R"("rail.test/rail":{"0":["i1"]})"), std::string::npos) << written;
  api::ResourceClaim claim = proven(hold("b", "n2", "gpu-1"), "b");
  claim.metadata.annotations[mark] = written;
  put(claim);
  api::Pod started = member("b");
  started.scheduling_gates.clear();
  started.node_name = "n2";
  view.put(started);
  publish("n2", {0});
  publish("n1", {0, 1, 1});
  wait_for_devices("c");
  EXPECT_EQ(pass("c"), "allocate cc");
  EXPECT_EQ(decided(), std::vector<std::string>{"n1/gpu-2"});
  claim.metadata.annotations[mark] = R"({"of": 5, "rail.test/rail": [[]]})";
  put(claim);
  EXPECT_EQ(pass("c").find("allocate"), std::string::npos) << "nothing says where that member is";
}

// kube-scheduler allocated the claim of a pod at our gate.
TEST_F(GroupRailsTest, WhatOthersAllocatedMustFitThoseWhoRun) {
  run("a", "n1", "gpu-1");
  view.put(member("b"));
  allocated("cb", "n2", "gpu-0", false, {"b"});
  const std::string did = pass("b");
  EXPECT_EQ(did.find("enlist"), std::string::npos) << did;
  EXPECT_NE(
      said().find("its claims are allocated already, and the members of its group that hold devices are not on the "
                  "same rails of rail.test/rail"),
      std::string::npos)
      << said();
  allocated("cb", "n2", "gpu-1", false, {"b"});
  EXPECT_EQ(pass("b"), "enlist cb");
}

// Two leaders each placed a member of a group that nobody of has started.
TEST_F(GroupRailsTest, AnOpenGroupOnDifferentRailsIsWithdrawn) {
  view.put(member("a"));
  view.put(member("b"));
  hold("a", "n1", "gpu-0");
  hold("b", "n2", "gpu-1");
  const std::string did = pass("a");
  EXPECT_EQ(did.find("prove"), std::string::npos) << did;
}

// The one whose allocation came first waits for the other to leave.
TEST_F(GroupRailsTest, OfTwoJoinersTheLaterOneLeaves) {
  publish("n1", {0, 0, 1});
  publish("n2", {0, 1, 2});
  run("a", "n1", "gpu-0");
  view.put(member("b"));
  view.put(member("c"));
  const auto with_two = [&](const std::string& name, const std::string& node, const std::string& other,
                            const std::string& version) {
    api::ResourceClaim claim = hold(name, node, node == "n1" ? "gpu-1" : "gpu-0");
    claim.spec.requests.front().exactly->count = 2;
    claim.status.allocation->results.push_back(claim.status.allocation->results.front());
    claim.status.allocation->results.back().device = other;
    claim.metadata.resource_version = version;
    put(claim);
  };
  with_two("b", "n1", "gpu-2", "20");  // rails 0 and 1
  with_two("c", "n2", "gpu-2", "21");  // rails 0 and 2
  const std::string first = pass("b");
  EXPECT_EQ(first.find("withdraw"), std::string::npos) << first;
  EXPECT_EQ(first.find("prove"), std::string::npos) << first;
  const std::string second = pass("c");
  EXPECT_NE(second.find("withdraw cc"), std::string::npos) << second;
}

}  // namespace
}  // namespace dra::allocation
