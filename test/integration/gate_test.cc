// The way of pods through gate mode, from creation to the last device given back.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "test/integration/cluster.h"

namespace dra::integration::gate_test {

using namespace std::chrono_literals;

TEST(Gate, TwoHundredPodsAreBoundAndLeaveNothingBehind) {
  ClusterOptions options;
  options.nodes = 50;
  options.devices = 4;
  options.components.scheduler_allocates = false;
  Cluster cluster(options);
  cluster.api().create(claim_template("one-gpu"));
  cluster.start();
  for (int i = 0; i < 200; ++i) cluster.api().create(pod("p" + std::to_string(i), {from_template("gpu", "one-gpu")}));

  EXPECT_TRUE(cluster.eventually([&] { return cluster.watchdog().bound_pods() == 200; }, 30s));
  EXPECT_EQ(cluster.verdict(), "");
  EXPECT_EQ(cluster.watchdog().claims(), 200u);
  EXPECT_EQ(cluster.watchdog().held_devices(), 200u);
  // Reserved up front: the scheduler has nothing to write.
  EXPECT_EQ(cluster.scheduler().stats().claim_writes, 0u);

  for (int i = 0; i < 200; ++i) cluster.api().remove(Api::path("Pod", "p" + std::to_string(i)));
  EXPECT_TRUE(cluster.eventually([&] { return cluster.watchdog().claims() == 0; }, 30s));
  EXPECT_EQ(cluster.empty_verdict(), "");
  EXPECT_EQ(cluster.watchdog().held_devices(), 0u);
}

}  // namespace dra::integration::gate_test
