// Groups of 64 and 1,000 members on 1,000 nodes of 8 GPUs in 25 racks.
//
//   build/release/bin/gang_bench
//
// Each round decides again; masks and counts of the allocator are kept, as in the manager. Measures CPU time.
#include <benchmark/benchmark.h>

#include "pkg/gang/testing/cpu_nodes.h"

namespace dra::gang {
namespace {

constexpr int kNodes = 1000;
constexpr int kGpus = 8;
constexpr int kNodesOfRack = 40;

struct Bench {
  explicit Bench(allocator::Strategy strategy)
      : allocator(inventory, {strategy}, random), gangs(inventory, allocator, {}) {
    api::DeviceClass gpu;
    gpu.metadata.name = "gpu";
    gpu.selectors.push_back("device.driver == \"gpu.example.com\"");
    inventory.apply_class(gpu);
    for (int n = 0; n < kNodes; ++n) add_node(n);
  }

  void add_node(int n) {
    const std::string name = "node-" + std::to_string(n);
    fleet.push_back({inventory.apply_node(name, {}), 64'000, {{"rack", "r" + std::to_string(n / kNodesOfRack)}}});
    api::ResourceSlice slice;
    slice.metadata.name = name;
    slice.driver = "gpu.example.com";
    slice.node_name = name;
    slice.pool = {name, 1, 1};
    for (int i = 0; i < kGpus; ++i) {
      api::Device& device = slice.devices.emplace_back();
      device.name = "gpu-" + std::to_string(i);
      device.attributes["uuid"] = name + "/" + device.name;
    }
    inventory.apply_slice(slice);
  }

  // Holds all devices except this many, which are spread over the nodes.
  void hold_all_but(int free) {
    for (int i = free; i < kNodes * kGpus; ++i) hold(i % kNodes, i / kNodes);
  }

  void hold_all_but_four_on(int nodes) {
    for (int n = 0; n < kNodes; ++n)
      for (int i = n < nodes ? 4 : 0; i < kGpus; ++i) hold(n, i);
  }

  void hold(int node, int gpu) {
    api::AllocationResult result;
    api::DeviceRequestAllocationResult& device = result.results.emplace_back();
    device.request = "gpu";
    device.driver = "gpu.example.com";
    device.pool = "node-" + std::to_string(node);
    device.device = "gpu-" + std::to_string(gpu);
    inventory.apply_allocation("holder-" + device.pool + "-" + device.device, result);
  }

  void add_members(int count, int gpus, int64_t cpu = 1000) {
    for (int i = 0; i < count; ++i) {
      const std::string name = "pod-" + std::to_string(request.members.size());
      auto claim = std::make_shared<api::ResourceClaim>();
      claim->metadata.name = claim->metadata.uid = name;
      claim->metadata.ns = "default";
      api::DeviceSubRequest exactly;
      exactly.device_class_name = "gpu";
      exactly.allocation_mode = "ExactCount";
      exactly.count = gpus;
      claim->spec.requests.push_back({"gpu", exactly, {}});
      Member& member = request.members.emplace_back();
      member.name = member.uid = name;
      member.shape = std::to_string(gpus) + "/" + std::to_string(cpu);
      member.cpu_milli = cpu;
      member.claims.push_back(claim);
      wants.push_back(cpu);
    }
    request.min_count = static_cast<uint32_t>(request.members.size());
    request.uid = request.name = "default/group";
  }

  void run(benchmark::State& state, Outcome expected, bool counted = true) {
    CpuNodes nodes(fleet, wants);
    nodes.set_counted(counted);
    uint64_t steps = 0;
    for (auto _ : state) {
      const Decision decision = gangs.decide(request, nodes);
      steps = decision.steps;
      if (decision.outcome != expected) state.SkipWithError(std::string(group_outcome_name(decision.outcome)).c_str());
    }
    state.counters["steps"] = static_cast<double>(steps);
  }

  inventory::Inventory inventory{inventory::Features::all()};
  SeededRandom random{1};
  allocator::Allocator allocator;
  Gangs gangs;
  std::vector<CpuNodes::Node> fleet;
  std::vector<int64_t> wants;
  GangRequest request;
};

constexpr allocator::Strategy kStrategies[] = {allocator::Strategy::kFirstFit, allocator::Strategy::kBestFit};

void BM_Found(benchmark::State& state) {
  Bench bench(kStrategies[state.range(1)]);
  bench.add_members(static_cast<int>(state.range(0)), 1);
  bench.run(state, Outcome::kFeasible);
}
void BM_FoundInRack(benchmark::State& state) {
  Bench bench(kStrategies[state.range(1)]);
  bench.add_members(static_cast<int>(state.range(0)), 1);
  bench.request.topology = {{"rack"}, 0, {}};
  bench.run(state, Outcome::kFeasible);
}
// Members of 2, 4 and 8 GPUs.
void BM_FoundMixed(benchmark::State& state) {
  Bench bench(kStrategies[state.range(1)]);
  const int third = static_cast<int>(state.range(0)) / 3;
  for (const int gpus : {2, 4, 8}) bench.add_members(third, gpus);
  bench.run(state, Outcome::kFeasible);
}
// One device too few, spread over the nodes.
void BM_TooFewDevices(benchmark::State& state) {
  Bench bench(kStrategies[state.range(1)]);
  bench.hold_all_but(static_cast<int>(state.range(0)) - 1);
  bench.add_members(static_cast<int>(state.range(0)), 1);
  bench.run(state, Outcome::kInfeasible);
}
// Counting does not refute it: CPU is short.
void BM_TooLittleCpu(benchmark::State& state) {
  Bench bench(kStrategies[state.range(1)]);
  bench.add_members(static_cast<int>(state.range(0)), 1);
  for (int n = 0; n < kNodes; ++n) bench.fleet[static_cast<size_t>(n)].cpu = 0;
  for (int n = 0; n < state.range(0) - 1; ++n) bench.fleet[static_cast<size_t>(n % kNodes)].cpu += 1000;
  bench.run(state, Outcome::kInfeasible);
}

// Two kinds, half of the members each. Only `nodes` nodes have devices, four each; one more node would suffice.
void run_mixed(benchmark::State& state, int first_gpus, int second_gpus, int nodes) {
  Bench bench(kStrategies[state.range(1)]);
  const int half = static_cast<int>(state.range(0)) / 2;
  bench.hold_all_but_four_on(nodes);
  bench.add_members(half, first_gpus);
  bench.add_members(half, second_gpus);
  bench.run(state, Outcome::kInfeasible);
}
// 4 and 2 GPUs: too few devices in sum, though enough for either kind alone.
void BM_MixedTooFewDevices(benchmark::State& state) {
  const int half = static_cast<int>(state.range(0)) / 2;
  run_mixed(state, 4, 2, half + half / 2 - 1);
}
// 3 and 2 GPUs: enough devices in sum, but one is left over wherever 3 are taken.
void BM_MixedLeftOver(benchmark::State& state) {
  const int half = static_cast<int>(state.range(0)) / 2;
  run_mixed(state, 3, 2, half + half / 2 - 1);
}

// CPU for 3 or twice 2 on each node.
void run_mixed_cpu(benchmark::State& state, Outcome expected, bool counted) {
  Bench bench(kStrategies[state.range(1)]);
  const int half = static_cast<int>(state.range(0)) / 2;
  bench.add_members(half, 1, 3000);
  bench.add_members(half, 1, 2000);
  for (int n = 0; n < kNodes; ++n) bench.fleet[static_cast<size_t>(n)].cpu = n < half + half / 2 - 1 ? 4000 : 0;
  bench.run(state, expected, counted);
}
void BM_MixedTooLittleCpu(benchmark::State& state) {
  run_mixed_cpu(state, Outcome::kInfeasible, true);
}
// Nothing counts what is short, so it stays undecided.
void BM_MixedUndecided(benchmark::State& state) {
  run_mixed_cpu(state, Outcome::kBudgetSpent, false);
}

void sizes(benchmark::internal::Benchmark* bench) {
  for (const int strategy : {0, 1})
    for (const int members : {64, 1000}) bench->Args({members, strategy});
  bench->ArgNames({"members", "best_fit"})->Unit(benchmark::kMillisecond);
}

BENCHMARK(BM_Found)->Apply(sizes);
BENCHMARK(BM_FoundInRack)
    ->Args({64, 0})
    ->Args({64, 1})
    ->ArgNames({"members", "best_fit"})
    ->Unit(benchmark::kMillisecond);
BENCHMARK(BM_FoundMixed)->Apply(sizes);
BENCHMARK(BM_TooFewDevices)->Apply(sizes);
BENCHMARK(BM_TooLittleCpu)->Apply(sizes);
BENCHMARK(BM_MixedTooFewDevices)->Apply(sizes);
BENCHMARK(BM_MixedLeftOver)->Apply(sizes);
BENCHMARK(BM_MixedTooLittleCpu)->Apply(sizes);
BENCHMARK(BM_MixedUndecided)->Apply(sizes);

}  // namespace
}  // namespace dra::gang

BENCHMARK_MAIN();
