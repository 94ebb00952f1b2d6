// allocator_scale_bench: one inventory of a large fleet, filled, updated and decided upon.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>

#include "bench/allocator/fleet.h"
#include "pkg/allocator/allocator.h"
#include "pkg/base/random.h"

namespace {

using namespace dra;
// Wall time by default; the thread's own processor time for a machine that is busy with other work.
bool use_cpu_time = false;

double micros_now() {
  timespec now;
  clock_gettime(use_cpu_time ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) / 1e3;
}

struct Size {
  int nodes = 5000;
  int claims = 100'000;
  int decisions = 10'000;
  uint64_t seed = 1;
};

struct Figures {
  size_t devices = 0;
  size_t claims = 0;
  double build_seconds = 0;
  double rss_mib = 0;
  double update_micros_median = 0;
  double update_micros_max = 0;
  double cold_micros = 0;
  double median_micros = 0;
  double p99_micros = 0;
  double max_micros = 0;
  double decisions_per_second = 0;
  uint64_t feasible = 0;
  uint64_t infeasible = 0;
  uint64_t undecided = 0;
  std::map<std::string, std::vector<double>> by_kind;  // microseconds per decision, sorted
};

double micros_since(double start) {
  return micros_now() - start;
}

double resident_mib() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.rfind("VmRSS:", 0) == 0) return std::stod(line.substr(6)) / 1024;
  return 0;
}

double quantile(const std::vector<double>& sorted, double q) {
  if (sorted.empty()) return 0;
  return sorted[std::min(sorted.size() - 1, static_cast<size_t>(q * static_cast<double>(sorted.size())))];
}

// Claims on seven tenths of the nodes, spread as evenly as possible: three
// whole GPUs, then the smallest partitions of GPUs 3 to 6. GPU 7 stays
// free.
void hold_claims(inventory::Inventory& inventory, const Size& size) {
  const int loaded = std::max(1, size.nodes * 7 / 10);
  for (int c = 0; c < size.claims; ++c) {
    const int node = c % loaded;
    const int turn = c / loaded;
    if (turn >= 3 + 4 * 7) break;
    const api::AllocationResult held =
        turn < 3 ? bench::hold_gpu(node, turn) : bench::hold_small(node, 3 + (turn - 3) / 7, (turn - 3) % 7);
    inventory.apply_allocation("held-" + std::to_string(c), held);
  }
}

void build(inventory::Inventory& inventory, const Size& size, Figures& figures) {
  const double start = micros_now();
  for (const api::DeviceClass& device_class : bench::fleet_classes()) inventory.apply_class(device_class);
  for (int node = 0; node < size.nodes; ++node) {
    inventory.apply_node(bench::node_name(node), {{"kubernetes.io/hostname", bench::node_name(node)}});
    for (const api::ResourceSlice& slice : bench::node_slices(node)) inventory.apply_slice(slice);
  }
  hold_claims(inventory, size);
  figures.build_seconds = micros_since(start) / 1e6;
  figures.devices = inventory.device_count();
  figures.claims = inventory.claim_count();
  figures.rss_mib = resident_mib();
}

void update_slices(inventory::Inventory& inventory, const Size& size, Figures& figures) {
  std::vector<double> times;
  for (int i = 0; i < 200; ++i) {
    const int node = static_cast<int>((static_cast<int64_t>(i) * 7919) % size.nodes);
    const std::vector<api::ResourceSlice> slices = bench::node_slices(node, i % 2 == 0 ? "A100-B" : "A100");
    const api::ResourceSlice& slice = slices[static_cast<size_t>(i % 3)];
    const double start = micros_now();
    inventory.apply_slice(slice);
    times.push_back(micros_since(start));
  }
  std::sort(times.begin(), times.end());
  figures.update_micros_median = quantile(times, 0.5);
  figures.update_micros_max = times.back();
}

bench::Ask pick_ask(uint64_t hundredth) {
  if (hundredth < 60) return bench::Ask::kOneGpu;
  if (hundredth < 80) return bench::Ask::kMigPair;
  if (hundredth < 90) return bench::Ask::kEightGpus;
  return hundredth < 95 ? bench::Ask::kTooMany : bench::Ask::kNoSuchProduct;
}

const char* ask_name(bench::Ask ask) {
  switch (ask) {
    case bench::Ask::kOneGpu:
      return "one GPU";
    case bench::Ask::kMigPair:
      return "MIG pair";
    case bench::Ask::kEightGpus:
      return "eight GPUs";
    case bench::Ask::kTooMany:
      return "nine GPUs";
    case bench::Ask::kNoSuchProduct:
      return "no such product";
  }
  return "";
}

void decide(inventory::Inventory& inventory, const Size& size, Figures& figures) {
  SeededRandom random(size.seed);
  allocator::Allocator allocator(inventory, {}, random);
  const std::vector<inventory::NodeId> nodes = inventory.nodes();
  std::vector<double> times;
  double total = 0;
  for (int i = 0; i < size.decisions; ++i) {
    allocator::Request request;
    const bench::Ask ask = pick_ask(random.below(100));
    request.claims = {bench::make_claim(ask, "new-" + std::to_string(i))};
    const double start = micros_now();
    const allocator::FoundNodes found = allocator.find_nodes(request, nodes, 1);
    if (!found.decisions.empty()) inventory.assume(request.claims[0]->metadata.uid, found.decisions[0].results[0]);
    times.push_back(micros_since(start));
    total += times.back();
    figures.by_kind[ask_name(ask)].push_back(times.back());
    if (i == 0) figures.cold_micros = times[0];
    if (found.outcome == allocator::Outcome::kFeasible)
      ++figures.feasible;
    else if (found.outcome == allocator::Outcome::kInfeasible)
      ++figures.infeasible;
    else
      ++figures.undecided;
  }
  for (auto& [kind, of_kind] : figures.by_kind) std::sort(of_kind.begin(), of_kind.end());
  std::sort(times.begin(), times.end());
  figures.median_micros = quantile(times, 0.5);
  figures.p99_micros = quantile(times, 0.99);
  figures.max_micros = times.empty() ? 0 : times.back();
  figures.decisions_per_second = total > 0 ? static_cast<double>(times.size()) * 1e6 / total : 0;
}

struct Bar {
  const char* name;
  double value;
  double most;
};

std::vector<Bar> bars(const Figures& figures) {
  return {{"median decision, us", figures.median_micros, 100},
          {"p99 decision, us", figures.p99_micros, 2000},
          {"slice update, us", figures.update_micros_max, 1000},
          {"resident memory, MiB", figures.rss_mib, 1024},
          {"undecided", static_cast<double>(figures.undecided), 0}};
}

void print_json(const Figures& f) {
  const nlohmann::json out = {{"devices", f.devices},
                              {"claims", f.claims},
                              {"buildSeconds", f.build_seconds},
                              {"residentMiB", f.rss_mib},
                              {"updateMicrosecondsMedian", f.update_micros_median},
                              {"updateMicrosecondsMax", f.update_micros_max},
                              {"coldMicroseconds", f.cold_micros},
                              {"medianMicroseconds", f.median_micros},
                              {"p99Microseconds", f.p99_micros},
                              {"maxMicroseconds", f.max_micros},
                              {"decisionsPerSecond", f.decisions_per_second},
                              {"feasible", f.feasible},
                              {"infeasible", f.infeasible},
                              {"undecided", f.undecided}};
  std::cout << out.dump(2) << "\n";
}

void print_table(const Figures& f) {
  std::printf("%zu devices, %zu claims: built in %.2f s, %.0f MiB resident\n", f.devices, f.claims, f.build_seconds,
              f.rss_mib);
  std::printf("slice update: median %.0f us, max %.0f us\n", f.update_micros_median, f.update_micros_max);
  std::printf(
      "decisions: cold %.0f us, median %.1f us, p99 %.0f us, max %.0f us, %.0f/s (%llu feasible, %llu infeasible)\n",
      f.cold_micros, f.median_micros, f.p99_micros, f.max_micros, f.decisions_per_second,
      static_cast<unsigned long long>(f.feasible), static_cast<unsigned long long>(f.infeasible));
  for (const auto& [kind, times] : f.by_kind)
    std::printf("  %-16s %6zu: median %.1f us, p99 %.0f us, max %.0f us\n", kind.c_str(), times.size(),
                quantile(times, 0.5), quantile(times, 0.99), times.back());
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Fills an inventory with a large fleet, updates it and decides.", "allocator_scale_bench");
  Size size;
  bool as_json = false;
  app.add_option("--nodes", size.nodes, "nodes of eight GPUs (160 devices each)")->check(CLI::Range(1, 99'999));
  app.add_option("--claims", size.claims, "claims that hold devices beforehand")->check(CLI::Range(0, 10'000'000));
  app.add_option("--decisions", size.decisions, "decisions, each taken into account")->check(CLI::Range(0, 10'000'000));
  app.add_option("--seed", size.seed, "of the order of requests");
  app.add_flag("--cpu-time", use_cpu_time, "processor time instead of wall time");
  app.add_flag("--json", as_json, "JSON instead of text");
  CLI11_PARSE(app, argc, argv);
  inventory::Inventory inventory;
  Figures figures;
  build(inventory, size, figures);
  update_slices(inventory, size, figures);
  decide(inventory, size, figures);
  as_json ? print_json(figures) : print_table(figures);
  int code = 0;
  for (const Bar& bar : bars(figures))
    if (bar.value > bar.most) {
      std::fprintf(stderr, "missed: %s %.1f, at most %.1f\n", bar.name, bar.value, bar.most);
      code = 1;
    }
  return code;
}
