// Two managers that both lead for the whole run: the worst case of leader election.
//
// DRA_RIVAL_PODS: how many pods (96); DRA_RIVAL_SEEDS: runs (2).
#include <gtest/gtest.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "test/integration/cluster.h"
#include "test/integration/faults.h"

namespace dra::integration::rivals_test {

using namespace std::chrono_literals;

TEST(TwoLeaders, HandOutEveryDeviceOnceAndLeaveNoPodBehind) {
  const size_t pods = from_environment("DRA_RIVAL_PODS", 96);
  size_t met = 0;
  for (const uint64_t seed : seeds("DRA_RIVAL_SEEDS", 2)) {
    SCOPED_TRACE(seed);
    ClusterOptions options;
    options.seed = seed;
    options.components.scheduler_allocates = false;
    options.nodes = (pods + 7) / 8;  // every device is needed
    options.devices = 8;
    Cluster cluster(options);
    SeededRandom chance(seed);
    cluster.api().create(claim_template("one-gpu"));
    // With watches of similar age both decide at the same time; a late one decides on an outdated state.
    const Duration lag = seed % 2 == 1 ? 30ms : 500ms;
    for (const char* name : {"a", "b"}) {
      ProcessOptions process;
      process.manager = Cluster::manager_options();
      Process& started = cluster.start(name, process, false);
      started.network().set_plan(lagging(chance, lag));
      started.start();
    }
    cluster.pass(2s);
    for (size_t i = 0; i < pods; ++i) {
      cluster.api().create(pod("p" + std::to_string(i), {from_template("gpu", "one-gpu")}));
      if (chance.below(8) == 0) cluster.pass(Duration(chance.below(50'000'000)));
    }
    EXPECT_TRUE(cluster.eventually([&] { return cluster.watchdog().bound_pods() == pods; }, 300s))
        << cluster.watchdog().bound_pods() << " of " << pods << " bound";
    EXPECT_EQ(cluster.verdict(), "");
    size_t withdrawn = 0, allocated = 0;
    for (const char* name : {"a", "b"}) {
      EXPECT_TRUE(cluster.process(name).manager().leading());
      const auto& seen = cluster.process(name).guard().seen();
      const auto count = [&](const char* point) { return seen.contains(point) ? seen.at(point) : 0; };
      withdrawn += count("allocation/withdraw");
      allocated += count("allocation/allocate");
    }
    std::printf("seed %llu: %zu pods, %zu allocations tried, %zu withdrawn\n", static_cast<unsigned long long>(seed),
                pods, allocated, withdrawn);
    met += withdrawn;
    for (size_t i = 0; i < pods; ++i) cluster.api().remove(Api::path("Pod", "p" + std::to_string(i)));
    EXPECT_TRUE(cluster.eventually([&] { return cluster.watchdog().claims() == 0; }, 300s));
    EXPECT_EQ(cluster.empty_verdict(), "");
  }
  EXPECT_GT(met, 0u) << "the two never met: this run proved nothing";
}

}  // namespace dra::integration::rivals_test
