// Many pods that want one claim: one write carries all that have come so far.
//
// DRA_SHARED_PODS: how many pods (262, of which a claim takes 256).
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <tuple>

#include "pkg/api/resource.h"
#include "test/integration/cluster.h"

namespace dra::integration::shared_claim_test {

using namespace std::chrono_literals;

// Gate or bind mode; pods that the node takes.
class SharedClaim : public testing::TestWithParam<std::tuple<bool, size_t>> {};

TEST_P(SharedClaim, IsWrittenAFewTimesForManyPods) {
  const auto [binds, places] = GetParam();
  const size_t pods = from_environment("DRA_SHARED_PODS", 262);
  ClusterOptions options;
  options.components.scheduler = !binds;
  options.nodes = 3;
  options.devices = 1;
  Cluster cluster(options);
  ProcessOptions process;
  process.manager = Cluster::manager_options();
  PodOptions how;
  how.run_seconds = 100'000;
  if (binds) {
    process.manager.settings.scheduling = reconcile::Scheduling::kBind;
    process.manager.settings.scheduler_names = {"dra"};
    how.gated = false;
    how.scheduler = "dra";
  }
  Process& manager = cluster.start("m1", process, true);
  ASSERT_TRUE(cluster.eventually([&] { return manager.manager().leading(); }, 70s));
  for (size_t i = 0; i < options.nodes; ++i)
    cluster.api().merge(Api::path("Node", node_name(i)) + "/status",
                        {{"status", {{"allocatable", {{"pods", std::to_string(places)}}}}}});
  cluster.api().create(claim("shared"));
  for (size_t i = 0; i < pods; ++i) {
    cluster.api().create(pod("p" + std::to_string(i), {from_claim("gpu", "shared")}, how));
    if (i % 8 == 7) cluster.plane().pass(30ms);  // a client that makes 260 a second
  }
  const size_t fit = std::min({pods, api::kMaxReservedFor, places});
  EXPECT_TRUE(cluster.eventually([&] { return cluster.watchdog().bound_pods() >= fit; }, 2500ms))
      << cluster.watchdog().bound_pods();
  VerdictOptions waiting;
  for (size_t i = 0; i < pods; ++i) waiting.may_wait.insert("default/p" + std::to_string(i));
  EXPECT_EQ(cluster.verdict(waiting), "");
  const auto& seen = manager.guard().seen();
  size_t writes = 0;
  for (const char* purpose : {"allocation/allocate", "allocation/prove", "allocation/reserve", "allocation/enlist"})
    if (const auto found = seen.find(purpose); found != seen.end()) writes += found->second;
  std::printf("%zu pods, %zu writes of the claim\n", pods, writes);
  EXPECT_LE(writes, 10u);
}

INSTANTIATE_TEST_SUITE_P(, SharedClaim, testing::Combine(testing::Bool(), testing::Values(size_t{110}, size_t{400})),
                         [](const auto& how) {
                           return (std::get<0>(how.param) ? "Bind" : "Gate") + std::to_string(std::get<1>(how.param));
                         });

}  // namespace dra::integration::shared_claim_test
