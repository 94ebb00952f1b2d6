// Decisions and updates of pkg/placement in a cluster of 5,000 nodes and 20,000 pods.
//
//   build/release/bin/placement_bench
//
// Pods belong to 400 workloads of 50; a third have anti-affinity by host. Spreading pods also spread over zones.
#include <benchmark/benchmark.h>
#include <malloc.h>

#include <memory>

#include "pkg/base/random.h"
#include "pkg/placement/decide.h"
#include "pkg/placement/decision.h"

namespace dra {
namespace {

constexpr int kNodes = 5000;
constexpr int kPods = 20000;
constexpr int kWorkloads = 400;

std::shared_ptr<const api::Node> make_node(int i) {
  auto node = std::make_shared<api::Node>();
  node->metadata.name = "node-" + std::to_string(i);
  node->metadata.labels = {{"kubernetes.io/hostname", node->metadata.name},
                           {"topology.kubernetes.io/zone", "zone-" + std::to_string(i % 10)},
                           {"topology.kubernetes.io/region", "region"},
                           {"node.kubernetes.io/instance-type", "type-" + std::to_string(i % 7)},
                           {"kubernetes.io/arch", "amd64"},
                           {"kubernetes.io/os", "linux"},
                           {"pool", i % 2 ? "gpu" : "cpu"}};
  if (i % 5 == 0) node->taints.push_back({"dedicated", "x", "NoSchedule", ""});
  node->allocatable = {{"cpu", "64"}, {"memory", "256Gi"}, {"ephemeral-storage", "1Ti"}, {"pods", "110"}};
  return node;
}

api::LabelSelector app(int workload) {
  return {{{"app", "app-" + std::to_string(workload)}}, {}};
}

api::Pod make_pod(int i) {
  const int workload = i % kWorkloads;
  api::Pod pod;
  pod.metadata.name = "pod-" + std::to_string(i);
  pod.metadata.uid = "uid-" + std::to_string(i);
  pod.metadata.ns = "ns-" + std::to_string(workload % 20);
  pod.metadata.labels = {{"app", "app-" + std::to_string(workload)}, {"pod-template-hash", std::to_string(workload)}};
  api::Container container;
  container.name = "main";
  container.requests = {{"cpu", "500m"}, {"memory", "1Gi"}};
  pod.containers.push_back(container);
  if (workload % 3 == 0)
    pod.pod_anti_affinity.required.push_back({app(workload), {}, std::nullopt, "kubernetes.io/hostname"});
  return pod;
}

api::Pod spreading_pod(int workload) {
  api::Pod pod = make_pod(workload);
  pod.metadata.uid = "pending";
  pod.pod_anti_affinity.required = {{app(workload), {}, std::nullopt, "kubernetes.io/hostname"}};
  api::TopologySpreadConstraint spread;
  spread.max_skew = 1;
  spread.topology_key = "topology.kubernetes.io/zone";
  spread.when_unsatisfiable = "DoNotSchedule";
  spread.label_selector = app(workload);
  pod.topology_spread.push_back(spread);
  return pod;
}

api::Pod affine_pod() {
  api::Pod pod = make_pod(1);
  pod.metadata.uid = "pending";
  pod.node_selector["pool"] = "gpu";
  pod.node_affinity.emplace().required.emplace().terms.push_back(
      {{{"topology.kubernetes.io/zone", "In", {"zone-1", "zone-3", "zone-5"}}}, {}});
  pod.node_affinity->preferred.push_back({10, {{{"node.kubernetes.io/instance-type", "In", {"type-1"}}}, {}}});
  return pod;
}

size_t heap() {
  return mallinfo2().uordblks;
}

struct Fixture {
  Fixture() {
    SeededRandom random(1);
    for (int i = 0; i < kNodes; ++i) nodes.push_back(make_node(i));
    for (int i = 0; i < kPods; ++i) pods.push_back(make_pod(i));
    const size_t before = heap();
    for (const auto& node : nodes) cluster.set_node(node);
    for (const api::Pod& pod : pods) cluster.set_pod(pod, "node-" + std::to_string(random.below(kNodes)), false);
    // With warm caches for decisions.
    for (int workload = 0; workload < kWorkloads; ++workload) {
      const api::Pod pod = spreading_pod(workload);
      benchmark::DoNotOptimize(placement::decide(cluster, *placement::PodNeeds::of(pod)));
    }
    bytes = heap() - before;
  }
  std::vector<std::shared_ptr<const api::Node>> nodes;
  std::vector<api::Pod> pods;
  placement::Cluster cluster;
  size_t bytes = 0;
};

Fixture& fixture() {
  static Fixture one;
  return one;
}

void decide_for(benchmark::State& state, const api::Pod& pod) {
  Fixture& f = fixture();
  size_t nodes = 0;
  for (auto _ : state) nodes = placement::decide(f.cluster, *placement::PodNeeds::of(pod)).nodes.size();
  state.counters["feasible"] = static_cast<double>(nodes);
  state.counters["facts_MB"] = static_cast<double>(f.bytes) / 1e6;
}

void BM_DecidePlain(benchmark::State& state) {
  decide_for(state, make_pod(1));
}
void BM_DecideNodeAffinity(benchmark::State& state) {
  decide_for(state, affine_pod());
}
void BM_DecideSpreadAndAntiAffinity(benchmark::State& state) {
  decide_for(state, spreading_pod(3));
}
BENCHMARK(BM_DecidePlain)->Unit(benchmark::kMicrosecond);
BENCHMARK(BM_DecideNodeAffinity)->Unit(benchmark::kMicrosecond);
BENCHMARK(BM_DecideSpreadAndAntiAffinity)->Unit(benchmark::kMicrosecond);

// A new selector: the pods of its namespace are examined once.
void BM_DecideNewSelector(benchmark::State& state) {
  Fixture& f = fixture();
  int next = 0;
  for (auto _ : state) {
    api::Pod pod = spreading_pod(3);
    pod.topology_spread[0].label_selector->match_expressions.push_back({"v", "NotIn", {std::to_string(next++)}});
    benchmark::DoNotOptimize(placement::decide(f.cluster, *placement::PodNeeds::of(pod)));
  }
}
BENCHMARK(BM_DecideNewSelector)->Unit(benchmark::kMicrosecond);

// Asks about the node that a pod was given: spreading still counts all nodes.
void BM_DecideOneNode(benchmark::State& state) {
  Fixture& f = fixture();
  const api::Pod pod = state.range(0) ? spreading_pod(3) : affine_pod();
  const std::vector<placement::NodeIndex> only = {*f.cluster.find_node("node-1")};
  placement::DecisionOptions options;
  options.only = &only;
  for (auto _ : state) benchmark::DoNotOptimize(placement::decide(f.cluster, *placement::PodNeeds::of(pod), options));
}
BENCHMARK(BM_DecideOneNode)->Arg(0)->Arg(1)->Unit(benchmark::kMicrosecond);

// A pod moves from node to node: removed from one, added to the other.
void BM_UpdatePod(benchmark::State& state) {
  Fixture& f = fixture();
  size_t i = 0;
  for (auto _ : state) {
    const api::Pod& pod = f.pods[i++ % f.pods.size()];
    f.cluster.set_pod(pod, f.nodes[i % f.nodes.size()]->metadata.name, false);
  }
}
BENCHMARK(BM_UpdatePod)->Unit(benchmark::kMicrosecond);

// Labels and resources of a node change.
void BM_UpdateNode(benchmark::State& state) {
  Fixture& f = fixture();
  auto changed = std::make_shared<api::Node>(*f.nodes[7]);
  changed->metadata.labels["pool"] = "other";
  changed->allocatable["cpu"] = "63";
  const std::shared_ptr<const api::Node> after = changed;
  bool odd = false;
  for (auto _ : state) f.cluster.set_node((odd = !odd) ? after : f.nodes[7]);
}
BENCHMARK(BM_UpdateNode)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace dra

BENCHMARK_MAIN();
