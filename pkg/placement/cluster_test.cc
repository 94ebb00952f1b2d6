// What pods take of their nodes, one after the other: a pod alike in the fields that decide it is not computed again.
#include "pkg/placement/cluster.h"

#include <gtest/gtest.h>

#include <iostream>

#include "pkg/base/random.h"

namespace dra::placement::cluster_test {
namespace {

// Each field of a pod that decides what it takes has one of two values.
api::Pod pod_of(uint64_t bits) {
  api::Pod pod;
  pod.metadata.ns = "default";
  pod.metadata.name = pod.metadata.uid = "pod-" + std::to_string(bits);
  if (bits & 1) pod.containers.push_back({});
  if (bits & 1) pod.containers[0].name = "main";
  if (bits & 1) pod.containers[0].requests["cpu"] = bits & 2 ? "2" : "1";
  if (bits & 4) pod.init_containers.emplace_back().requests["cpu"] = "3";
  if (bits & 8) pod.overhead["memory"] = "1Gi";
  if (bits & 16) pod.pod_requests = api::ResourceList{{"cpu", "5"}};
  if (bits & 32) {
    api::ResizedContainer& resized = pod.resized_containers.emplace_back();
    resized.name = "main";
    resized.resources.in_force["cpu"] = "7";
  }
  if (bits & 64) pod.resized = api::ResizedResources{{{"cpu", "9"}}, {}};
  if (bits & 128) pod.claims_take = std::vector<api::ClaimTakes>{{"c", {{"cpu", bits & 1 ? "3" : "4"}}}};
  return pod;
}

TEST(Cluster, APodTakesWhatItsFieldsSayWhicheverPodCameBefore) {
  const uint64_t seed = 20261125;
  std::cout << "seed " << seed << "\n";
  SeededRandom random(seed);
  Cluster cluster;
  for (int round = 0; round < 4000; ++round) {
    const api::Pod pod = pod_of(random.below(256));
    cluster.set_pod(pod, "n1", false);
    const PlacedPod* placed = cluster.pod(pod.metadata.uid);
    ASSERT_NE(placed, nullptr);
    ASSERT_EQ(placed->charge, bound_charge(pod)) << "round " << round << ", " << pod.metadata.name;
    cluster.remove_pod(pod.metadata.uid);
  }
  EXPECT_EQ(cluster.kept_nodes(), 0u);
}

}  // namespace
}  // namespace dra::placement::cluster_test
