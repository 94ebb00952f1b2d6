// explain says what only the manager knows: devices that a pod avoids, and nodes that are kept from it.
#include <gtest/gtest.h>

#include "pkg/base/timestamp.h"
#include "pkg/inspect/verbs/explain.h"
#include "pkg/protocol/avoided.h"
#include "pkg/protocol/manager_lease.h"
#include "pkg/verdict/nodes.h"
#include "test/support/objects.h"

namespace dra::inspect::kept_from_test {

// A pod that waits for one of the two devices of node a.
struct WaitingWorld {
  api::Pod pod = test::named<api::Pod>("p");
  WallTime now{std::chrono::seconds{1'700'000'000}};
  Managers managers;

  WaitingWorld() {
    pod.metadata.creation_timestamp = format_rfc3339(now - std::chrono::minutes(5));
    pod.phase = "Pending";
    pod.scheduler_name = "ours";
    pod.resource_claims.push_back({"gpus", "c", std::nullopt});
  }

  std::string explained(Status status) const {
    Objects all;
    all.taken = now;
    all.managers = managers;
    auto node = std::make_shared<api::Node>();
    node->metadata.name = "a";
    node->allocatable = {{"pods", "10"}, {"cpu", "8"}};
    all.nodes["a"] = node;
    all.pods[pod.metadata.key()] = std::make_shared<const api::Pod>(pod);
    auto claim = std::make_shared<api::ResourceClaim>(test::named<api::ResourceClaim>("c"));
    claim->spec.requests = {test::exactly("gpu", "gpu")};
    all.claims["default/c"] = claim;
    all.claim_by_uid["c-uid"] = claim;
    const auto slice = std::make_shared<const api::ResourceSlice>(test::local_slice("gpu.example.com", "a", "gpu-", 2));
    all.slices[slice->metadata.name] = slice;
    auto device_class = std::make_shared<api::DeviceClass>();
    device_class->metadata.name = "gpu";
    device_class->selectors = {"device.driver == \"gpu.example.com\""};
    all.classes["gpu"] = device_class;
    State state(all, {});
    const auto answer = explain(state, "pod/p", {"default", "", 200, false});
    EXPECT_TRUE(answer) << answer.error().message();
    EXPECT_EQ(answer->status, status);
    std::string text;
    for (const std::string& line : answer->lines) text += line + "\n";
    return text;
  }
};

TEST(KeptFrom, DevicesThatThePodAvoidsAreNotOnesWhereItFits) {
  WaitingWorld world;
  EXPECT_NE(world.explained(Status::kYes).find("Fits on node a."), std::string::npos);
  std::vector<protocol::AvoidedDevice> avoided{
      {{"gpu.example.com", "a", "gpu-0"}, world.now + std::chrono::minutes(9)}};
  const auto avoid = [&] {
    world.pod.metadata.annotations[std::string(protocol::kAvoidedDevices)] = protocol::avoided_text(avoided);
  };
  avoid();
  EXPECT_NE(world.explained(Status::kYes).find("gpu.example.com/a/gpu-1"), std::string::npos) << "one is left";
  avoided.push_back({{"gpu.example.com", "a", "gpu-1"}, world.now + std::chrono::minutes(9)});
  avoid();
  const std::string text = world.explained(Status::kNo);
  EXPECT_NE(text.find("Does not fit"), std::string::npos) << text;
  EXPECT_NE(text.find("avoided for this pod, since they could not be prepared"), std::string::npos) << text;
  EXPECT_EQ(text.find("in use"), std::string::npos) << text;
  world.now += std::chrono::minutes(10);
  EXPECT_NE(world.explained(Status::kYes).find("Fits on node a."), std::string::npos) << "the time is over";
}

TEST(KeptFrom, DevicesInQuarantineAreNotOnesWhereItFits) {
  WaitingWorld world;
  auto lease = std::make_shared<api::Lease>(test::named<api::Lease>("dra-controller-manager"));
  lease->holder_identity = "m";
  lease->lease_duration_seconds = 15;
  lease->renew_time = format_rfc3339(world.now);
  protocol::ManagerNotes notes;
  notes.quarantine = protocol::avoided_text({{{"gpu.example.com", "a", "gpu-0"}, world.now + std::chrono::minutes(9)},
                                             {{"gpu.example.com", "a", "gpu-1"}, world.now + std::chrono::minutes(9)}});
  lease->metadata.annotations = protocol::annotations_of(notes);
  world.managers.asked = true;
  world.managers.leases["default/dra-controller-manager"] = lease;
  EXPECT_NE(world.explained(Status::kNo).find("could not be prepared"), std::string::npos);
  world.now += std::chrono::minutes(10);
  EXPECT_NE(world.explained(Status::kYes).find("Fits on node a."), std::string::npos) << "the time is over";
}

TEST(KeptFrom, NodesThatAreKeptForAGroupAreQuotedFromTheManager) {
  WaitingWorld world;
  const std::string message =
      "0/1 nodes are available: 1 node (a): kept for podgroup default/g" + std::string(verdict::kWhyKept);
  world.pod.conditions.push_back({"PodScheduled", "False", "Unschedulable", message, "", 0});
  const std::string text = world.explained(Status::kNo);
  EXPECT_NE(text.find("The manager does not place it there: its condition PodScheduled says: " + message),
            std::string::npos)
      << text;
  EXPECT_EQ(text.find("It waits for its scheduler"), std::string::npos) << text;
  world.pod.conditions[0].message = "0/1 nodes are available: insufficient cpu";
  EXPECT_NE(world.explained(Status::kYes).find("It waits for its scheduler"), std::string::npos);
}

}  // namespace dra::inspect::kept_from_test
