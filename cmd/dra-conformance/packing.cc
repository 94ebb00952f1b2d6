// dra-conformance packing: tasks with slices of GPUs, whole GPUs or none, placed one by one; no task ever ends.
//
// A GPU is a device that can be shared with a capacity of 1000 milli (step 1), its model an attribute; CPU and memory
// belong to the node. A task is a pod with one claim. Line 1 of the list has the nodes, each further line a task.
#include <algorithm>
#include <chrono>
#include <fstream>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>

#include "cmd/command.h"
#include "cmd/dra-conformance/lines.h"
#include "cmd/dra-conformance/lists.h"

namespace dra::conformance {
namespace {

using nlohmann::json;

constexpr const char* kDriver = "gpu.example.com";
constexpr int64_t kMilliOfGpu = 1000;

struct PackingTally {
  int64_t gpu_milli = 0, allocated_milli = 0;
  uint64_t tasks = 0, refused = 0, refused_cpu_only = 0, refused_sliced = 0, refused_whole = 0, refused_multi = 0;
};

void add_gpus(Fleet& fleet, const std::string& node, int gpus, const std::string& model) {
  api::ResourceSlice slice;
  slice.metadata.name = node + "-gpus";
  slice.driver = kDriver;
  slice.node_name = node;
  slice.pool = {node, 1, 1};
  for (int i = 0; i < gpus; ++i) {
    api::Device gpu;
    gpu.name = "gpu-" + std::to_string(i);
    gpu.allow_multiple_allocations = true;
    gpu.attributes["model"] = model;
    api::CapacityRequestPolicy policy;
    policy.default_value = "1000";
    policy.valid_range = api::CapacityRange{"1", "1000", "1"};
    gpu.capacity["milli"] = {"1000", policy};
    slice.devices.push_back(std::move(gpu));
  }
  fleet.devices().apply_slice(slice);
}

std::string model_selector(const json& models) {
  std::string list;
  for (const json& model : models) list += (list.empty() ? "" : ", ") + json(model.get<std::string>()).dump();
  return "device.attributes[\"" + std::string(kDriver) + "\"].model in [" + list + "]";
}

std::shared_ptr<const api::ResourceClaim> claim_of(const json& task, const std::string& id) {
  if (task.at("numGpu").get<int>() == 0) return nullptr;
  auto claim = std::make_shared<api::ResourceClaim>();
  claim->metadata.name = claim->metadata.uid = id;
  claim->metadata.ns = "default";
  api::DeviceSubRequest exactly;
  exactly.device_class_name = "gpu";
  exactly.allocation_mode = "ExactCount";
  exactly.count = task.at("numGpu").get<int>();
  exactly.capacity_requests["milli"] = std::to_string(task.at("gpuMilli").get<int64_t>());
  if (!task.at("gpuSpec").empty()) exactly.selectors.push_back(model_selector(task.at("gpuSpec")));
  claim->spec.requests.push_back({"gpu", exactly, {}});
  return claim;
}

api::Pod packing_pod(const json& task, const std::string& id) {
  api::Pod pod;
  pod.metadata.name = pod.metadata.uid = id;
  pod.metadata.ns = "default";
  pod.containers.emplace_back().requests = {{"cpu", std::to_string(task.at("cpuMilli").get<int64_t>()) + "m"},
                                            {"memory", std::to_string(task.at("memoryMib").get<int64_t>()) + "Mi"}};
  return pod;
}

void count_refusal(const json& task, PackingTally& tally) {
  const int gpus = task.at("numGpu").get<int>();
  const bool whole = task.at("gpuMilli").get<int64_t>() == kMilliOfGpu;
  ++tally.refused;
  ++(gpus == 0  ? tally.refused_cpu_only
     : gpus > 1 ? tally.refused_multi
     : whole    ? tally.refused_whole
                : tally.refused_sliced);
}

void run_task(Fleet& fleet, const json& task, PackingTally& tally, std::ostream* out) {
  const std::string id = task.at("id").get<std::string>();
  ++tally.tasks;
  const std::optional<Fleet::Placed> placed = fleet.place(packing_pod(task, id), claim_of(task, id));
  json line = {{"id", id}, {"node", nullptr}, {"gpus", json::array()}};
  if (placed) {
    line["node"] = placed->node;
    for (const api::DeviceRequestAllocationResult& device : placed->devices.results)
      line["gpus"].push_back(std::stoi(device.device.substr(std::string("gpu-").size())));
    tally.allocated_milli += task.at("numGpu").get<int64_t>() * task.at("gpuMilli").get<int64_t>();
  } else {
    count_refusal(task, tally);
  }
  if (out != nullptr) *out << line.dump() << "\n";
}

void add_nodes(Fleet& fleet, const json& nodes, PackingTally& tally) {
  std::vector<json> sorted(nodes.begin(), nodes.end());
  std::sort(sorted.begin(), sorted.end(), [](const json& a, const json& b) { return a.at("name") < b.at("name"); });
  for (const json& node : sorted) {
    const std::string name = node.at("name").get<std::string>();
    fleet.add_node(name, node.at("cpuMilli").get<int64_t>(), node.at("memoryMib").get<int64_t>());
    add_gpus(fleet, name, node.at("gpus").get<int>(), node.at("model").get<std::string>());
    tally.gpu_milli += node.at("gpus").get<int64_t>() * kMilliOfGpu;
  }
}

int run_packing(const std::vector<std::string>& arguments) {
  ListFlags flags;
  if (const auto code =
          parse_list_flags(arguments, "dra-conformance packing", "Packs slices of GPUs onto nodes", flags))
    return *code;
  std::ofstream out;
  if (!flags.out.empty()) out.open(flags.out);
  if (!out) return cannot_write("packing", flags.out);
  Fleet fleet(inventory::Features::all(), flags.strategy);
  api::DeviceClass gpus;
  gpus.metadata.name = "gpu";
  gpus.selectors.push_back("device.driver == \"" + std::string(kDriver) + "\"");
  fleet.devices().apply_class(gpus);
  PackingTally tally;
  const auto start = std::chrono::steady_clock::now();
  const bool read = each_line(locate(flags.in), [&](const std::string& text) {
    const json line = json::parse(text);
    if (line.contains("nodes"))
      add_nodes(fleet, line["nodes"], tally);
    else
      run_task(fleet, line, tally, out.is_open() ? &out : nullptr);
  });
  if (!read) return cannot_read("packing", flags.in);
  if (!flags.out.empty() && !out.flush()) return cannot_write("packing", flags.out);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const json summary = {
      {"strategy", strategy_name(flags.strategy)},
      {"gpuAllocationPct", tally.gpu_milli == 0 ? 0.0
                                                : 100.0 * static_cast<double>(tally.allocated_milli) /
                                                      static_cast<double>(tally.gpu_milli)},
      {"tasks", tally.tasks},
      {"refused", tally.refused},
      {"refusedCpuOnly", tally.refused_cpu_only},
      {"refusedSliced", tally.refused_sliced},
      {"refusedWhole", tally.refused_whole},
      {"refusedMultiGpu", tally.refused_multi},
      {"undecided", fleet.undecided()},
      {"medianNanos", fleet.percentile(0.5)},
      {"p99Nanos", fleet.percentile(0.99)},
      {"seconds", seconds},
  };
  std::cout << summary.dump() << "\n";
  return 0;
}

const cmd::RegisterCommand kPacking("packing", "packs slices of GPUs, tasks that come and never leave", &run_packing);

}  // namespace
}  // namespace dra::conformance
