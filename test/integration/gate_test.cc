// Pods in gate mode, from creation to the release of the last device.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "test/integration/cluster.h"

namespace dra::integration::gate_test {

using namespace std::chrono_literals;

// Pods from a template, until all are bound, and then until nothing is left of them.
void take_through(Cluster& cluster, size_t pods) {
  const auto name = [](size_t i) { return "p" + std::to_string(i); };
  cluster.api().create(claim_template("one-gpu"));
  for (size_t i = 0; i < pods; ++i) cluster.api().create(pod(name(i), {from_template("gpu", "one-gpu")}));

  EXPECT_TRUE(cluster.eventually([&] { return cluster.watchdog().bound_pods() == pods; }, 30s));
  EXPECT_EQ(cluster.verdict(), "");
  EXPECT_EQ(cluster.watchdog().claims(), pods);
  EXPECT_EQ(cluster.watchdog().held_devices(), pods);
  EXPECT_EQ(cluster.watchdog().most_claims_per_entry(), 1u);
  // Reserved up front: the scheduler has nothing to write.
  EXPECT_EQ(cluster.scheduler().stats().claim_writes, 0u);

  for (size_t i = 0; i < pods; ++i) cluster.api().remove(Api::path("Pod", name(i)));
  EXPECT_TRUE(cluster.eventually([&] { return cluster.watchdog().claims() == 0; }, 30s));
  EXPECT_EQ(cluster.empty_verdict(), "");
  EXPECT_EQ(cluster.watchdog().held_devices(), 0u);
}

TEST(Gate, TwoHundredPodsAreBoundAndLeaveNothingBehind) {
  ClusterOptions options;
  options.nodes = 50;
  options.devices = 4;
  options.components.scheduler_allocates = false;
  Cluster cluster(options);
  cluster.start();
  take_through(cluster, 200);
  EXPECT_EQ(cluster.scheduler().stats().nominations, 0u) << "the names came with the node";
}

// kube-controller-manager creates and cleans up the claims; its writes must not conflict with ours.
TEST(Gate, BesideTheClaimControllerOfKubeControllerManager) {
  ClusterOptions options;
  options.nodes = 10;
  options.devices = 4;
  options.components.scheduler_allocates = false;
  options.components.claim_controller = true;
  Cluster cluster(options);
  ProcessOptions process;
  process.manager = Cluster::manager_options();
  process.manager.settings.claim_templates = manager::ClaimTemplates::kObserve;
  Process& manager = cluster.start("m1", process);
  take_through(cluster, 40);
  EXPECT_FALSE(manager.guard().seen().contains("claimtemplate/create-claim"));
  EXPECT_EQ(cluster.scheduler().stats().nominations, 40u) << "whoever publishes the names does not know the node";
}

}  // namespace dra::integration::gate_test
