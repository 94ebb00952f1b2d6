// dra-conformance mig: partitions of GPUs that come and go.
//
// A GPU is a counter set of memory slices (one counter each) and compute slices, with one device for each profile and
// start ("gpu-3-3g.40gb-4"). Line 1 of the list gives the numbers of nodes and GPUs, each further line is an add or a
// remove. An add requests `count` partitions of one profile on one node; a refused add is not retried.
#include <array>
#include <chrono>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "cmd/command.h"
#include "cmd/dra-conformance/lines.h"
#include "cmd/dra-conformance/lists.h"

namespace dra::conformance {
namespace {

using nlohmann::json;

constexpr const char* kMigDriver = "mig.example.com";
constexpr int kNodeCpuMilli = 1'000'000;

struct Profile {
  const char* name;
  int memory;
  int compute;
  std::vector<int> starts;
};
const std::array<Profile, 6>& profiles() {
  static const std::array<Profile, 6> kProfiles = {{{"1g.10gb", 1, 1, {0, 1, 2, 3, 4, 5, 6}},
                                                    {"1g.20gb", 2, 1, {0, 2, 4, 6}},
                                                    {"2g.20gb", 2, 2, {0, 2, 4}},
                                                    {"3g.40gb", 4, 3, {0, 4}},
                                                    {"4g.40gb", 4, 4, {0}},
                                                    {"7g.80gb", 8, 7, {0}}}};
  return kProfiles;
}

int compute_of(const std::string& profile) {
  for (const Profile& one : profiles())
    if (profile == one.name) return one.compute;
  throw std::runtime_error("profile \"" + profile + "\" is not known");
}

api::CounterSet counters_of(int gpu, const json& header) {
  api::CounterSet set;
  set.name = "gpu-" + std::to_string(gpu);
  for (int i = 0; i < header.at("memorySlices").get<int>(); ++i)
    set.counters["memory-slice-" + std::to_string(i)] = "1";
  set.counters["compute"] = std::to_string(header.at("computeSlices").get<int>());
  return set;
}

void add_partitions(int gpu, std::vector<api::Device>& devices) {
  const std::string set = "gpu-" + std::to_string(gpu);
  for (const Profile& profile : profiles())
    for (const int start : profile.starts) {
      api::Device device;
      device.name = set + "-" + profile.name + "-" + std::to_string(start);
      device.attributes["profile"] = std::string(profile.name);
      device.attributes["gpu"] = int64_t{gpu};
      device.attributes["start"] = int64_t{start};
      api::DeviceCounterConsumption& use = device.consumes_counters.emplace_back();
      use.counter_set = set;
      use.counters["compute"] = std::to_string(profile.compute);
      for (int i = 0; i < profile.memory; ++i) use.counters["memory-slice-" + std::to_string(start + i)] = "1";
      devices.push_back(std::move(device));
    }
}

void add_mig_nodes(Fleet& fleet, const json& header) {
  for (int node = 0; node < header.at("nodes").get<int>(); ++node) {
    const std::string number = std::to_string(node);
    const std::string name = "node-" + std::string(4 - std::min<size_t>(number.size(), 4), '0') + number;
    fleet.add_node(name, kNodeCpuMilli, kNodeCpuMilli);
    api::ResourceSlice counters, devices;
    counters.driver = devices.driver = kMigDriver;
    counters.node_name = devices.node_name = name;
    counters.pool = devices.pool = {name, 1, 2};
    counters.metadata.name = name + "-counters";
    devices.metadata.name = name + "-devices";
    for (int gpu = 0; gpu < header.at("gpusPerNode").get<int>(); ++gpu) {
      counters.shared_counters.push_back(counters_of(gpu, header));
      add_partitions(gpu, devices.devices);
    }
    fleet.devices().apply_slice(counters);
    fleet.devices().apply_slice(devices);
  }
}

struct MigTally {
  int64_t warmup = 0, adds = 0;
  int64_t requested = 0, admitted = 0;
  uint64_t refused = 0, refused_7g_3g = 0;
};

api::Pod mig_pod(const std::string& id) {
  api::Pod pod;
  pod.metadata.name = pod.metadata.uid = id;
  pod.metadata.ns = "default";
  return pod;
}

std::shared_ptr<const api::ResourceClaim> mig_claim(const std::string& id, const std::string& profile, int count) {
  auto claim = std::make_shared<api::ResourceClaim>();
  claim->metadata.name = claim->metadata.uid = id;
  claim->metadata.ns = "default";
  api::DeviceSubRequest exactly;
  exactly.device_class_name = profile;
  exactly.allocation_mode = "ExactCount";
  exactly.count = count;
  claim->spec.requests.push_back({"partition", exactly, {}});
  return claim;
}

// "gpu-3-3g.40gb-4" on node-0012 is slot [3, 4] of node 12.
json slot_of(const std::string& device) {
  const size_t after_gpu = device.find('-', 4);
  return {std::stoi(device.substr(4, after_gpu - 4)), std::stoi(device.substr(device.rfind('-') + 1))};
}

void run_event(Fleet& fleet, const json& event, MigTally& tally, std::ostream* out) {
  const std::string id = event.at("id").get<std::string>();
  if (event.at("op") == "remove") return fleet.remove(id);
  const std::string profile = event.at("profile").get<std::string>();
  const int count = event.at("count").get<int>();
  const std::optional<Fleet::Placed> placed = fleet.place(mig_pod(id), mig_claim(id, profile, count));
  if (++tally.adds > tally.warmup) {
    tally.requested += int64_t{count} * compute_of(profile);
    if (placed) tally.admitted += int64_t{count} * compute_of(profile);
    tally.refused += !placed;
    tally.refused_7g_3g += !placed && (profile == "7g.80gb" || profile == "3g.40gb");
  }
  if (!placed || out == nullptr) return;
  json line = {{"id", id}, {"node", std::stoi(placed->node.substr(5))}, {"slots", json::array()}};
  for (const api::DeviceRequestAllocationResult& device : placed->devices.results)
    line["slots"].push_back(slot_of(device.device));
  *out << line.dump() << "\n";
}

int run_mig(const std::vector<std::string>& arguments) {
  ListFlags flags;
  if (const auto code = parse_list_flags(arguments, "dra-conformance mig", "Places partitions of GPUs", flags))
    return *code;
  std::ofstream out;
  if (!flags.out.empty()) out.open(flags.out);
  if (!out) return cannot_write("mig", flags.out);
  Fleet fleet(inventory::Features::all(), flags.strategy);
  for (const Profile& profile : profiles()) {
    api::DeviceClass one;
    one.metadata.name = profile.name;
    const std::string driver(kMigDriver);
    one.selectors.push_back("device.driver == \"" + driver + "\" && device.attributes[\"" + driver +
                            "\"].profile == \"" + profile.name + "\"");
    fleet.devices().apply_class(one);
  }
  MigTally tally;
  const auto start = std::chrono::steady_clock::now();
  const bool read = each_line(locate(flags.in), [&](const std::string& text) {
    const json line = json::parse(text);
    if (line.contains("nodes")) {
      tally.warmup = line.at("warmupAdds").get<int64_t>();
      add_mig_nodes(fleet, line);
    } else {
      run_event(fleet, line, tally, out.is_open() ? &out : nullptr);
    }
  });
  if (!read) return cannot_read("mig", flags.in);
  if (!flags.out.empty() && !out.flush()) return cannot_write("mig", flags.out);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const double pct =
      tally.requested == 0 ? 0.0 : 100.0 * static_cast<double>(tally.admitted) / static_cast<double>(tally.requested);
  const json summary = {{"strategy", strategy_name(flags.strategy)},
                        {"admittedComputePct", pct},
                        {"adds", tally.adds},
                        {"refused", tally.refused},
                        {"refused7gOr3g", tally.refused_7g_3g},
                        {"undecided", fleet.undecided()},
                        {"medianNanos", fleet.percentile(0.5)},
                        {"p99Nanos", fleet.percentile(0.99)},
                        {"seconds", seconds}};
  std::cout << summary.dump() << "\n";
  return 0;
}

const cmd::RegisterCommand kMig("mig", "places partitions of GPUs that come and go", &run_mig);

}  // namespace
}  // namespace dra::conformance
