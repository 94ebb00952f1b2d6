// inventory_bench: one pool of many slices, loaded, updated and rolled over to its next generation.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <functional>
#include <iostream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <utility>

#include "pkg/base/random.h"
#include "pkg/inventory/inventory.h"
#include "pkg/protocol/memory_view.h"
#include "pkg/protocol/slice_changes.h"

namespace {

using namespace dra;

struct Size {
  int slices = 5000;
  int devices = 128;
  int updates = 200;
  int claims = 10'000;
  bool counters = false;
  bool nodes = false;
  bool rollover = true;
  uint64_t seed = 1;
};

// Microseconds of single changes.
struct Times {
  double median = 0, p99 = 0, max = 0;
};

struct Figures {
  size_t devices = 0;
  double load_seconds = 0;
  double resident_mib = 0;
  Times load, update, remove, add, rollover, concerned, portion;
  size_t concerned_claims = 0;
  double rollover_seconds = 0;
};

// Wall time by default; the thread's own processor time for a machine that is busy with other work.
bool use_cpu_time = false;

double micros_now() {
  timespec now;
  clock_gettime(use_cpu_time ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) / 1e3;
}

double resident_mib() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.rfind("VmRSS:", 0) == 0) return std::stod(line.substr(6)) / 1024;
  return 0;
}

Times summarise(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  if (times.empty()) return {};
  return {times[times.size() / 2], times[times.size() * 99 / 100], times.back()};
}

// With counters, four devices share a set; every fourth slice publishes the sets of the three after it.
api::ResourceSlice make_slice(int number, const Size& size, int64_t generation, const char* firmware) {
  api::ResourceSlice slice;
  slice.metadata.name = "slice-" + std::to_string(100'000 + number);
  slice.driver = "gpu.example.com";
  slice.pool = {"shared", generation, size.slices};
  if (size.nodes) {
    slice.node_name = "node-" + std::to_string(number);
  } else {
    slice.all_nodes = true;
  }
  const int group = size.counters ? number - number % 4 : number;
  auto set_name = [](int of_slice, int device) {
    return "set-" + std::to_string(of_slice) + "-" + std::to_string(device / 4);
  };
  if (size.counters && number == group) {
    for (int s = number + 1; s < std::min(number + 4, size.slices); ++s)
      for (int d = 0; d < size.devices; d += 4)
        slice.shared_counters.push_back({set_name(s, d), {{"memory", "80Gi"}, {"slices", "4"}}});
    return slice;
  }
  for (int d = 0; d < size.devices; ++d) {
    api::Device& device = slice.devices.emplace_back();
    device.name = "gpu-" + std::to_string(number) + "-" + std::to_string(d);
    device.attributes["type"] = std::string("gpu");
    device.attributes["uuid"] = "GPU-" + std::to_string(number) + "-" + std::to_string(d);
    device.attributes["productName"] = std::string("A100");
    device.attributes["index"] = int64_t{d};
    device.attributes["firmware"] = std::string(firmware);
    device.capacity["memory"].value = "80Gi";
    if (size.counters) device.consumes_counters.push_back({set_name(number, d), {{"memory", "20Gi"}, {"slices", "1"}}});
  }
  return slice;
}

// Claims on devices of the pool, one device each.
protocol::MemoryView claims_on(const Size& size) {
  protocol::MemoryView view;
  for (int i = 0; i < size.claims; ++i) {
    api::ResourceClaim claim;
    claim.metadata.ns = "default";
    claim.metadata.name = "claim-" + std::to_string(i);
    const std::string device = "gpu-" + std::to_string(i % size.slices) + "-" + std::to_string(i / size.slices);
    claim.status.allocation.emplace().results.push_back({"gpu", "gpu.example.com", "shared", device});
    view.put(claim);
  }
  return view;
}

double timed(const std::function<void()>& change) {
  const double start = micros_now();
  change();
  return micros_now() - start;
}

std::vector<int> shuffled(const Size& size) {
  std::vector<int> numbers(static_cast<size_t>(size.slices));
  std::iota(numbers.begin(), numbers.end(), 0);
  SeededRandom random(size.seed);
  for (size_t i = numbers.size(); i > 1; --i) std::swap(numbers[i - 1], numbers[random.below(i)]);
  return numbers;
}

Times apply_all(inventory::Inventory& inventory, const Size& size, int64_t generation, double& seconds) {
  std::vector<double> times;
  for (const int number : shuffled(size)) {
    const api::ResourceSlice slice = make_slice(number, size, generation, "1");
    times.push_back(timed([&] { inventory.apply_slice(slice); }));
  }
  seconds = std::accumulate(times.begin(), times.end(), 0.0) / 1e6;
  return summarise(std::move(times));
}

Figures measure(const Size& size) {
  Figures figures;
  inventory::Inventory inventory;
  figures.load = apply_all(inventory, size, 1, figures.load_seconds);
  figures.devices = inventory.device_count();
  figures.resident_mib = resident_mib();
  SeededRandom random(size.seed);
  std::vector<double> update, remove, add, concerned, portion;
  const protocol::MemoryView view = claims_on(size);
  protocol::SliceChanges changes;
  const auto fact = [](const api::Device& device) { return "published " + std::to_string(device.taints.size()); };
  const api::ResourceSlice first = make_slice(0, size, 1, "1");
  const protocol::SliceChanges::Visit count = [&](const auto&, const auto&, auto&) { ++figures.concerned_claims; };
  // Visits the claims of a change; returns what all of it took.
  const auto visit_all = [&](const api::ResourceSlice& before, const api::ResourceSlice& after) {
    reconcile::EnqueueRequests out;
    double sum = timed([&] { changes.visit(view, inventory, &before, &after, fact, count, out); });
    portion.push_back(sum);
    for (const reconcile::Walk& walk : std::exchange(out.walks, {}))
      for (bool more = true; more;) {
        portion.push_back(timed([&] { more = walk(view, out); }));
        sum += portion.back();
      }
    return sum;
  };
  visit_all(first, first);  // sees the pool for the first time
  figures.concerned_claims = 0;
  for (int i = 0; i < size.updates; ++i) {
    const auto number = static_cast<int>(random.below(static_cast<uint64_t>(size.slices)));
    const api::ResourceSlice before = make_slice(number, size, 1, "1");
    api::ResourceSlice changed = make_slice(number, size, 1, i % 2 == 0 ? "2" : "3");
    if (i % 2 == 0 && !changed.devices.empty()) changed.devices.front().taints.push_back({"bad", "", "NoExecute", ""});
    update.push_back(timed([&] { inventory.apply_slice(changed); }));
    concerned.push_back(visit_all(before, changed));
    remove.push_back(timed([&] { inventory.remove_slice(changed.metadata.name); }));
    add.push_back(timed([&] { inventory.apply_slice(changed); }));
  }
  figures.update = summarise(std::move(update));
  figures.remove = summarise(std::move(remove));
  figures.add = summarise(std::move(add));
  figures.concerned = summarise(std::move(concerned));
  figures.portion = summarise(std::move(portion));
  if (size.rollover) figures.rollover = apply_all(inventory, size, 2, figures.rollover_seconds);
  return figures;
}

nlohmann::json json_of(const Times& times) {
  return {{"medianMicroseconds", times.median}, {"p99Microseconds", times.p99}, {"maxMicroseconds", times.max}};
}

void print_json(const Figures& f) {
  const nlohmann::json out = {{"devices", f.devices},
                              {"loadSeconds", f.load_seconds},
                              {"residentMiB", f.resident_mib},
                              {"load", json_of(f.load)},
                              {"update", json_of(f.update)},
                              {"remove", json_of(f.remove)},
                              {"add", json_of(f.add)},
                              {"rolloverSeconds", f.rollover_seconds},
                              {"rollover", json_of(f.rollover)},
                              {"concerned", json_of(f.concerned)},
                              {"portion", json_of(f.portion)},
                              {"concernedClaims", f.concerned_claims}};
  std::cout << out.dump(2) << "\n";
}

void print_line(const char* what, const Times& times) {
  std::printf("  %-10s median %.0f us, p99 %.0f us, max %.0f us\n", what, times.median, times.p99, times.max);
}

void print_text(const Figures& f) {
  std::printf("%zu devices in one pool: loaded in %.2f s, %.0f MiB resident; next generation in %.2f s\n", f.devices,
              f.load_seconds, f.resident_mib, f.rollover_seconds);
  print_line("load", f.load);
  print_line("update", f.update);
  print_line("remove", f.remove);
  print_line("add", f.add);
  print_line("rollover", f.rollover);
  print_line("concerned", f.concerned);
  print_line("a portion", f.portion);
  std::printf("  the updates, every other one with a taint, concerned %zu claims in all\n", f.concerned_claims);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Loads one pool of many slices, changes slices of it and moves it to its next generation.",
               "inventory_bench");
  Size size;
  bool as_json = false;
  app.add_option("--slices", size.slices, "slices of the pool")->check(CLI::Range(1, 100'000));
  app.add_option("--devices", size.devices, "devices of a slice")->check(CLI::Range(1, 4096));
  app.add_option("--updates", size.updates, "slices changed, removed and added again")->check(CLI::Range(0, 100'000));
  app.add_option("--claims", size.claims, "claims on the pool")->check(CLI::Range(0, 100'000));
  app.add_option("--seed", size.seed, "of the order of slices");
  app.add_flag("--counters", size.counters, "devices consume shared counters; a quarter of the slices publish them");
  app.add_flag("--nodes", size.nodes, "each slice on a node of its own instead of all nodes");
  app.add_flag("!--no-rollover", size.rollover, "without the next generation");
  app.add_flag("--cpu-time", use_cpu_time, "processor time instead of wall time");
  app.add_flag("--json", as_json, "JSON instead of text");
  CLI11_PARSE(app, argc, argv);
  const Figures figures = measure(size);
  as_json ? print_json(figures) : print_text(figures);
  const double worst = std::max({figures.update.p99, figures.remove.p99, figures.add.p99, figures.rollover.p99});
  const bool missed = figures.load_seconds > 3 || worst > 1000;
  if (missed) std::fprintf(stderr, "missed: at most 3 s to load, at most 1000 us for a change of a slice (p99)\n");
  return missed ? 1 : 0;
}
