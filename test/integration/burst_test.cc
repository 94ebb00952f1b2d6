// Many pods at once while the manager's watch of claims is half a minute late: it knows only the answers to its own
// writes.
//
// DRA_BURST_PODS: how many pods (1000).
#include <gtest/gtest.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "test/integration/cluster.h"

namespace dra::integration::burst_test {

using namespace std::chrono_literals;

TEST(Burst, OneClaimPerEntryAlthoughTheClaimWatchLags) {
  const size_t pods = from_environment("DRA_BURST_PODS", 1000);
  ClusterOptions options;
  options.components.scheduler = false;
  options.components.kubelets = false;
  options.nodes = 10;
  options.devices = 8;
  Cluster cluster(options);
  cluster.api().create(claim_template("one-gpu"));
  ProcessOptions process;
  process.manager = Cluster::manager_options();
  Process& manager = cluster.start("m1", process, false);
  manager.network().set_plan([](const client::Request& request, bool streamed) {
    client::Fault fault;
    if (streamed && request.target.find("/resourceclaims?") != std::string::npos) fault.delay_answer = 30s;
    return fault;
  });
  manager.start();
  ASSERT_TRUE(cluster.eventually([&] { return manager.manager().leading(); }, 70s));
  cluster.plane().pass(31s);  // the lag is also real time on a real control plane
  for (size_t i = 0; i < pods; ++i)
    cluster.api().create(pod("p" + std::to_string(i), {from_template("gpu", "one-gpu")}));
  cluster.plane().pass(90s);

  EXPECT_EQ(cluster.watchdog().claims(), pods);
  EXPECT_EQ(cluster.watchdog().most_claims_per_entry(), 1u);
  EXPECT_EQ(manager.guard().seen().at("claimtemplate/create-claim"), pods) << "no create was tried twice";
  VerdictOptions waiting;  // 80 devices: most pods wait unbound
  for (size_t i = 0; i < pods; ++i) waiting.may_wait.insert("default/p" + std::to_string(i));
  EXPECT_EQ(cluster.verdict(waiting), "");
  std::printf("%zu pods, %zu claims, %zu creates\n", pods, cluster.watchdog().claims(),
              manager.guard().seen().at("claimtemplate/create-claim"));
}

}  // namespace dra::integration::burst_test
