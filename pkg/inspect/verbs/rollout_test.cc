// Rolling updates that wait for their own older pods.
#include "pkg/inspect/verbs/rollout.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "pkg/inspect/answer/layout.h"
#include "pkg/inspect/state/objects_fixture.h"
#include "pkg/inspect/verbs/doctor.h"
#include "pkg/inspect/verbs/explain.h"

namespace dra::inspect::rollout_test {
namespace {

// Nodes with two GPUs each; Deployment "serve" has older pods, each on a node and with both of its GPUs, and a newer
// pod that waits for two.
struct Rollout {
  Objects objects;

  explicit Rollout(size_t nodes = 1) {
    parse_rfc3339("2026-03-01T12:00:00Z", objects.taken);
    auto gpu = named_object<api::DeviceClass>("", "gpu");
    gpu->selectors = {"device.driver == 'gpu.example.com'"};
    objects.classes["gpu"] = gpu;
    for (size_t i = 0; i < nodes; ++i) add_node("n" + std::to_string(i), "old-" + std::to_string(i), "serve-1");
    add_pod("new", "serve-2", "", 2, "2026-03-01T11:30:00Z");
  }

  void add_node(const std::string& name, const std::string& pod, const std::string& replica_set) {
    auto node = named_object<api::Node>("", name);
    node->allocatable = {{"pods", "10"}, {"cpu", "8"}};
    objects.nodes[name] = node;
    auto slice = named_object<api::ResourceSlice>("", name + "-gpus");
    slice->driver = "gpu.example.com";
    slice->pool = {name, 1, 1};
    slice->node_name = name;
    for (const char* device : {"gpu-0", "gpu-1"}) {
      slice->devices.emplace_back();
      slice->devices.back().name = device;
    }
    objects.slices[slice->metadata.name] = slice;
    add_pod(pod, replica_set, name, 2, "2026-03-01T11:00:00Z");
  }

  // With a claim of its own, which holds `count` devices, from number `first`, if the pod is on a node.
  void add_pod(const std::string& name, const std::string& replica_set, const std::string& node, int64_t count,
               const std::string& created, int64_t first = 0) {
    auto claim = named_object<api::ResourceClaim>("ml", name + "-g");
    claim->metadata.uid = name + "-g-uid";
    claim->spec.requests.emplace_back();
    claim->spec.requests[0].name = "gpu";
    claim->spec.requests[0].exactly.emplace().device_class_name = "gpu";
    claim->spec.requests[0].exactly->count = count;
    auto pod = named_object<api::Pod>("ml", name);
    pod->metadata.uid = name + "-uid";
    pod->metadata.creation_timestamp = created;
    if (!replica_set.empty()) {
      pod->metadata.owner_references.emplace_back();
      pod->metadata.owner_references[0].kind = "ReplicaSet";
      pod->metadata.owner_references[0].name = replica_set;
      pod->metadata.owner_references[0].uid = replica_set + "-uid";
      pod->metadata.owner_references[0].controller = true;
    }
    pod->phase = node.empty() ? "Pending" : "Running";
    pod->node_name = node;
    pod->resource_claims.push_back({"g", claim->metadata.name, std::nullopt});
    if (!node.empty()) {
      auto& allocation = claim->status.allocation.emplace();
      for (int64_t i = first; i < first + count; ++i)
        allocation.results.push_back({"gpu", "gpu.example.com", node, "gpu-" + std::to_string(i)});
      allocation.node_selector = api::NodeSelector{{{{}, {{"metadata.name", "In", {node}}}}}};
      claim->status.reserved_for.push_back({"", "pods", name, pod->metadata.uid});
    }
    objects.claims[claim->metadata.key()] = claim;
    objects.claim_by_uid[claim->metadata.uid] = claim;
    objects.pods[pod->metadata.key()] = pod;
  }

  std::optional<BlockedRollout> blocked() const { return blocked_rollout(objects, {}, *objects.pods.at("ml/new")); }
};

TEST(Rollout, AnOlderReplicaHoldsWhatTheNewOneWaitsFor) {
  const Rollout world(3);
  const auto blocked = world.blocked();
  ASSERT_TRUE(blocked);
  EXPECT_FALSE(blocked->all);
  EXPECT_EQ(words_of(*blocked),
            "pod ml/old-0, an older replica of Deployment ml/serve, holds what its new pod ml/new waits for");
  EXPECT_NE(remedy_of(*blocked).find("maxUnavailable"), std::string::npos);
}

TEST(Rollout, ExplainAndDoctorSayIt) {
  const Rollout world;
  State state(world.objects, {});
  for (const char* target : {"deployment/serve", "pod/new"}) {
    const auto answer = explain(state, target, {"ml", "", 200, false});
    ASSERT_TRUE(answer) << answer.error().message();
    const std::string page = render(*answer, {});
    EXPECT_NE(page.find("The rolling update blocks itself: pod ml/old-0"), std::string::npos) << page;
    EXPECT_NE(page.find("Recreate"), std::string::npos) << page;
  }
  const auto found = diagnose(state);
  EXPECT_TRUE(std::any_of(found.begin(), found.end(), [](const Diagnosis& one) {
    return one.check == "rolling updates" && one.health == Health::kIll;
  }));
}

TEST(Rollout, OnlyAllOlderPodsTogetherMakeWay) {
  Rollout world;
  world.add_pod("old-0", "serve-1", "n0", 1, "2026-03-01T11:00:00Z");
  world.add_pod("old-1", "serve-1", "n0", 1, "2026-03-01T11:00:00Z", 1);
  const auto blocked = world.blocked();
  ASSERT_TRUE(blocked);
  EXPECT_TRUE(blocked->all);
  EXPECT_NE(remedy_of(*blocked).find("Recreate"), std::string::npos);
}

TEST(Rollout, NothingIsSaidWhereTheRolloutIsNotWhatBlocks) {
  Rollout other;  // others hold the devices
  other.objects.pods.clear();
  other.objects.claims.clear();
  other.add_pod("old-0", "another-1", "n0", 2, "2026-03-01T11:00:00Z");
  other.add_pod("new", "serve-2", "", 2, "2026-03-01T11:30:00Z");
  EXPECT_FALSE(other.blocked());
  Rollout same;  // a second replica of the same ReplicaSet
  same.add_pod("old-0", "serve-2", "n0", 2, "2026-03-01T11:00:00Z");
  EXPECT_FALSE(same.blocked());
  Rollout never;  // more than the node has
  never.add_pod("new", "serve-2", "", 3, "2026-03-01T11:30:00Z");
  EXPECT_FALSE(never.blocked());
  Rollout later;  // the pod of the other ReplicaSet is the newer one
  later.add_pod("old-0", "serve-1", "n0", 2, "2026-03-01T11:45:00Z");
  EXPECT_FALSE(later.blocked());
}

}  // namespace
}  // namespace dra::inspect::rollout_test
