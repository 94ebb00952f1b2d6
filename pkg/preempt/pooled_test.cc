// Moves where the devices of a kind are all held: by pods that could do with others, or that could not.
#include "pkg/preempt/pooled.h"

#include <gtest/gtest.h>

#include "pkg/base/random.h"
#include "pkg/preempt/preempt.h"

namespace dra::preempt {
namespace {

constexpr const char* kDriver = "gpu.example.com";

// One node with a big GPU, which "runs" holds, and a small one that is free; "waits" asks for a big one.
class BigAndSmall : public ::testing::Test {
 protected:
  BigAndSmall() {
    for (const auto& [name, selector] :
         {std::pair("any", "true"), std::pair("big", "device.attributes[\"gpu.example.com\"].big")}) {
      api::DeviceClass one;
      one.metadata.name = name;
      one.selectors.push_back(selector);
      inventory_.apply_class(one);
    }
    auto node = std::make_shared<api::Node>();
    node->metadata.name = "n";
    node->allocatable = {{"cpu", "8"}, {"memory", "8Gi"}, {"pods", "10"}};
    cluster_.set_node(node);
    inventory_.apply_node(std::shared_ptr<const api::Node>(node));
    api::ResourceSlice slice;
    slice.metadata.name = slice.node_name = "n";
    slice.driver = kDriver;
    slice.pool = {"n", 1, 1};
    for (const char* name : {"big", "small"}) {
      api::Device& device = slice.devices.emplace_back();
      device.name = name;
      device.attributes["big"] = device.name == "big";
    }
    inventory_.apply_slice(slice);
  }

  Answer ask(const char* class_of_the_pod_that_runs) {
    add("runs", class_of_the_pod_that_runs, "big");
    add("waits", "big", "");
    world_.pending = {1};
    return who_must_move(world_);
  }

 private:
  void add(const std::string& name, const std::string& device_class, const std::string& device) {
    auto pod = std::make_shared<api::Pod>();
    pod->metadata.ns = "ns";
    pod->metadata.name = name;
    pod->metadata.uid = "uid-" + name;
    pod->metadata.owner_references.push_back({"apps/v1", "ReplicaSet", name, "uid-rs-" + name, true});
    pod->node_name = device.empty() ? "" : "n";
    pod->phase = device.empty() ? "Pending" : "Running";
    pod->containers.emplace_back().requests = {{"cpu", "1"}};
    auto claim = std::make_shared<api::ResourceClaim>();
    claim->metadata.ns = "ns";
    claim->metadata.name = name;
    claim->metadata.uid = "uid-claim-" + name;
    api::DeviceSubRequest exactly;
    exactly.device_class_name = device_class;
    exactly.allocation_mode = "ExactCount";
    exactly.count = 1;
    claim->spec.requests.push_back({"gpu", exactly, {}});
    if (!device.empty()) {
      claim->status.allocation.emplace().results.push_back({"gpu", kDriver, "n", device});
      claim->status.reserved_for.push_back({"", "pods", name, pod->metadata.uid});
      cluster_.set_pod(*pod, "n", false);
    }
    inventory_.apply_claim(*claim);
    Pod& out = world_.pods.emplace_back();
    out.claims.push_back(static_cast<uint32_t>(world_.claims.size()));
    out.object = std::move(pod);
    world_.claims.push_back(std::move(claim));
  }

  inventory::Inventory inventory_{inventory::Features::all()};
  placement::Cluster cluster_;
  SeededRandom random_{1};
  allocator::Allocator allocator_{inventory_, {}, random_};
  World world_{inventory_, allocator_, cluster_, {}, {}, {}, {}, {}, {}, {}};
};

TEST_F(BigAndSmall, WhoCouldDoWithAnotherDeviceMovesToIt) {
  const Answer answer = ask("any");
  ASSERT_EQ(answer.verdict, Verdict::kEvict);
  EXPECT_EQ(answer.pods, std::vector<uint32_t>{0});
  EXPECT_EQ(answer.allocations.at("ns/runs").results.at(0).device, "small");
  EXPECT_EQ(answer.allocations.at("ns/waits").results.at(0).device, "big");
}

TEST_F(BigAndSmall, WhoAsksForTheSameMakesNoRoom) {
  const Answer answer = ask("big");
  EXPECT_EQ(answer.verdict, Verdict::kNever);
  EXPECT_LE(answer.checks, 2u) << "it is counted, not searched";
}

}  // namespace
}  // namespace dra::preempt
