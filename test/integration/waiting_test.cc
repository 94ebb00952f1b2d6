// Many pods that wait for devices while others come and go: what that costs, and that a crowd delays nobody.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <ctime>
#include <map>
#include <nlohmann/json.hpp>

#include "test/integration/cluster.h"
#include "test/integration/groups.h"

namespace dra::integration::waiting_test {

using namespace std::chrono_literals;

class Waiting : public ::testing::Test {
 protected:
  void begin(size_t nodes, size_t devices, reconcile::Scheduling mode = reconcile::Scheduling::kGate) {
    ClusterOptions options;
    options.embedded = true;
    options.components.scheduler_allocates = false;
    options.nodes = nodes;
    options.devices = devices;
    cluster = std::make_unique<Cluster>(options);
    cluster->api().create(claim_template("one-gpu"));
    ProcessOptions process;
    process.manager = Cluster::manager_options();
    process.manager.settings.scheduling = mode;
    process.manager.settings.scheduler_names = {"ours"};
    process.manager.on_reconcile = [this](std::string_view controller, const std::string& key) {
      if (controller == "allocation") ++passes[key];
    };
    cluster->start("m1", process);
  }
  // Pods with PodScheduled=False, reason Unschedulable.
  size_t notified() {
    size_t count = 0;
    for (const Json& one : cluster->api().list("Pod"))
      for (const Json& condition : one.value("/status/conditions"_json_pointer, Json::array()))
        count += condition["type"] == "PodScheduled" && condition["status"] == "False" &&
                 condition["reason"] == "Unschedulable" && !condition["message"].get<std::string>().empty();
    return count;
  }
  size_t passes_in_all() const {
    size_t sum = 0;
    for (const auto& [key, count] : passes) sum += count;
    return sum;
  }

  static Json with_cpu(const std::string& cpu, Json pod) {
    pod["spec"]["containers"][0]["resources"]["requests"]["cpu"] = cpu;
    return pod;
  }
  static std::string ordinary_name(int round, size_t i) {
    return "ordinary" + std::to_string(round) + "-" + std::to_string(i);
  }

  std::unique_ptr<Cluster> cluster;
  std::map<std::string, size_t> passes;
};

// How many pods wait in all; the tests take parts of it.
size_t waiting_pods() {
  return from_environment("DRA_WAITING_PODS", 1000);
}

// 800 pods wait, 300 nodes are full of devices in use, and 14 ordinary pods end per second: no device becomes free, so
// no waiting pod is tried. bench/waiting_pods.py measures what that costs.
TEST_F(Waiting, OrdinaryPodsThatEndTryNoPodThatWaitsForDevices) {
  const size_t nodes = waiting_pods() * 3 / 10, waiting = waiting_pods() * 8 / 10;
  constexpr size_t kEndings = 14 * 10;
  begin(nodes, 1);
  for (size_t i = 0; i < nodes + waiting; ++i)
    cluster->api().create(pod("p" + std::to_string(i), {from_template("gpu", "one-gpu")}));
  ASSERT_TRUE(cluster->eventually([&] { return cluster->watchdog().bound_pods() == nodes; }, 120s));
  // The same twice, leading and not leading: the difference in time is the cost of leading.
  double seconds[2] = {};
  size_t tried = 0;
  for (const int round : {0, 1}) {
    for (size_t i = 0; i < kEndings; ++i) {
      PodOptions ordinary;
      ordinary.gated = false;
      ordinary.node = node_name(i % nodes);
      cluster->api().create(pod(ordinary_name(round, i), {}, ordinary));
    }
    if (round == 1) cluster->process("m1").manager().stop_leading();
    cluster->pass(40s);  // by then every waiting pod has its condition
    const size_t before = passes_in_all();
    const std::clock_t began = std::clock();
    for (size_t i = 0; i < kEndings; ++i) {
      cluster->api().remove(Api::path("Pod", ordinary_name(round, i)));
      cluster->pass(71ms);
    }
    seconds[round] = static_cast<double>(std::clock() - began) / CLOCKS_PER_SEC;
    if (round == 0) tried = passes_in_all() - before;
  }
  std::printf(
      "%zu pods ended in 10 s beside %zu that wait: %zu were tried, %.1f %% of a core (%.3f s, %.3f s standing by)\n",
      kEndings, waiting, tried, (seconds[0] - seconds[1]) * 10, seconds[0], seconds[1]);
  EXPECT_EQ(tried, 0u);
}

// The same pods, but what is missing is the CPU that ordinary pods use: each end tries one pod of each shape, not all
// that wait, and what it frees on one node suffices for none.
TEST_F(Waiting, CapacityThatDoesNotSufficeTriesOneWaitingPodOfAShape) {
  constexpr size_t kNodes = 30, kWaiting = 200, kEndings = 60;
  begin(kNodes, 8);
  for (size_t i = 0; i < kNodes; ++i) {
    PodOptions large;
    large.gated = false;
    large.node = node_name(i);
    cluster->api().create(with_cpu("64", pod("large" + std::to_string(i), {}, large)));
  }
  cluster->pass(5s);
  for (size_t i = 0; i < kWaiting; ++i)
    cluster->api().create(with_cpu("1", pod("p" + std::to_string(i), {from_template("gpu", "one-gpu")})));
  for (size_t i = 0; i < kEndings; ++i) {
    PodOptions ordinary;
    ordinary.gated = false;
    ordinary.node = node_name(i % kNodes);
    cluster->api().create(with_cpu("10m", pod(ordinary_name(0, i), {}, ordinary)));
  }
  cluster->pass(40s);
  const size_t before = passes_in_all();
  for (size_t i = 0; i < kEndings; ++i) {
    cluster->api().remove(Api::path("Pod", ordinary_name(0, i)));
    cluster->pass(1s);
  }
  const size_t tried = passes_in_all() - before;
  std::printf("%zu pods ended beside %zu that wait for CPU: %zu were tried\n", kEndings, kWaiting, tried);
  EXPECT_LE(tried, 2 * kEndings);
  EXPECT_GE(tried, 1u);
}

// 1,000 pods of one namespace that fit nowhere, then one of another namespace.
TEST_F(Waiting, ACrowdInOneNamespaceDoesNotDelayAnother) {
  begin(4, 4);
  cluster->api().create(claim_template("too-many", "gpu", 5));
  for (size_t i = 0; i < waiting_pods(); ++i)
    cluster->api().create(pod("crowd" + std::to_string(i), {from_template("gpu", "too-many")}));
  cluster->api().create({{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", {{"name", "other"}}}});
  Json made = claim_template("one-gpu");
  made["metadata"]["namespace"] = "other";
  cluster->api().create(made);
  Json alone = pod("alone", {from_template("gpu", "one-gpu")});
  alone["metadata"]["namespace"] = "other";
  cluster->api().create(alone);
  EXPECT_TRUE(cluster->eventually([&] { return cluster->watchdog().bound_pods() == 1; }, 2s, 20ms));
}

// Autoscalers read the condition: single pods, pods without claims, and groups.
TEST_F(Waiting, WhereWeBindPodsThatFitNowhereSaySoWithinASecond) {
  begin(4, 4, reconcile::Scheduling::kBind);
  cluster->api().create(claim_template("too-many", "gpu", 5));
  PodOptions ours;
  ours.gated = false;
  ours.scheduler = "ours";
  cluster->pass(5s);
  for (size_t i = 0; i < 60; ++i)
    cluster->api().create(pod("p" + std::to_string(i), {from_template("gpu", "too-many")}, ours));
  for (size_t i = 0; i < 10; ++i) cluster->api().create(with_cpu("1000", pod("plain" + std::to_string(i), {}, ours)));
  for (size_t i = 0; i < 30; ++i)
    cluster->api().create(member_of_job(pod("m" + std::to_string(i), {from_template("gpu", "one-gpu")}, ours),
                                        "job" + std::to_string(i / 10), 10));
  for (size_t i = 0; i < 30; ++i)
    cluster->api().create(
        member_of_job(with_cpu("1000", pod("n" + std::to_string(i), {}, ours)), "large" + std::to_string(i / 10), 10));
  // Of three groups of ten one fits: there are 16 devices.
  cluster->pass(1s);
  EXPECT_GE(notified(), 100u);
  EXPECT_LE(notified(), 60u + 10 + 20 + 30);
  cluster->pass(5s);
  EXPECT_EQ(notified(), 60u + 10 + 20 + 30);
  EXPECT_EQ(cluster->watchdog().bound_pods(), 10u);
}

// Beyond a hundred: 50 a second in all and 10 of a namespace, the oldest first.
TEST_F(Waiting, WhereWeBindACrowdThatFitsNowhereIsToldAtThePaceOfItsNamespaces) {
  begin(4, 4, reconcile::Scheduling::kBind);
  PodOptions ours;
  ours.gated = false;
  ours.scheduler = "ours";
  const size_t count = from_environment("DRA_TOLD_PODS", 600);
  for (const size_t namespaces : {10, 1}) {
    for (int team = 0; team < static_cast<int>(namespaces); ++team)
      cluster->api().create({{"apiVersion", "v1"},
                             {"kind", "Namespace"},
                             {"metadata", {{"name", "team" + std::to_string(namespaces) + std::to_string(team)}}}});
    const size_t before = notified();
    for (size_t i = 0; i < count; ++i) {
      Json one = with_cpu("1000", pod("p" + std::to_string(namespaces) + "-" + std::to_string(i), {}, ours));
      one["metadata"]["namespace"] = "team" + std::to_string(namespaces) + std::to_string(i * namespaces / count);
      cluster->api().create(one);
    }
    // The burst of a hundred, then the pace: 5,000 pods of ten namespaces are notified within 120 s, of one within 510
    // s.
    const auto seconds = std::chrono::seconds((count - 100) / (namespaces == 1 ? 10 : 50));
    cluster->pass(seconds / 2);
    EXPECT_LT(notified() - before, count) << namespaces;
    cluster->pass(seconds - seconds / 2 + 20s);
    EXPECT_EQ(notified() - before, count) << namespaces;
    cluster->pass(60s);  // the tokens of the next round
  }
}

// Ten minutes: shorter than the interval at which events that still apply are repeated.
TEST_F(Waiting, AnIdleClusterWithWaitingPodsWritesNothing) {
  const size_t waiting = waiting_pods();
  begin(50, 4);
  cluster->api().create(claim_template("too-many", "gpu", 5));
  for (size_t i = 0; i < waiting; ++i)
    cluster->api().create(pod("p" + std::to_string(i), {from_template("gpu", "too-many")}));
  cluster->pass(3min);  // claims, events and conditions
  EXPECT_EQ(cluster->watchdog().bound_pods(), 0u);
  Process& manager = cluster->process("m1");
  const auto before = manager.guard().seen();
  const std::clock_t began = std::clock();
  cluster->pass(10min);
  const double seconds = static_cast<double>(std::clock() - began) / CLOCKS_PER_SEC;
  size_t conditions = 0;
  for (const auto& [point, count] : manager.guard().seen()) {
    EXPECT_EQ(count, before.contains(point) ? before.at(point) : 0) << point;
    if (point.find("pods/status") != std::string::npos || point.find("show-waiting") != std::string::npos)
      conditions += count;
  }
  for (const auto& [point, count] : before) std::printf("  %s: %zu before\n", point.c_str(), count);
  EXPECT_GE(conditions, waiting) << "each of them has its condition";
  std::printf("%zu pods wait: no write in 10 minutes; all of the cluster took %.1f s of CPU for that\n", waiting,
              seconds);
}

}  // namespace dra::integration::waiting_test
