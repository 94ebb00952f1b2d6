#include "bench/allocator/fleet.h"

#include <array>

namespace dra::bench {
namespace {

constexpr const char* kDriver = "gpu.example.com";

struct Profile {
  const char* name;
  const char* memory;
  int slices;        // of the eight memory slices
  int first, count;  // placements: starts first, first + slices, ...
};

// 7 + 7 + 3 + 2 = 19 placements; the second row is the variant with media engines.
constexpr std::array<Profile, 4> kProfiles = {{{"1g.10gb", "10Gi", 1, 0, 7},
                                               {"1g.10gb.me", "10Gi", 1, 0, 7},
                                               {"2g.20gb", "20Gi", 2, 0, 3},
                                               {"3g.40gb", "40Gi", 4, 0, 2}}};

std::string gpu_name(int gpu) {
  return "gpu-" + std::to_string(gpu);
}
std::string set_name(int gpu) {
  return gpu_name(gpu) + "-counters";
}
std::string partition_name(int gpu, const Profile& profile, int placement) {
  std::string kind = profile.name;
  for (char& c : kind)
    if (c == '.') c = '-';
  return gpu_name(gpu) + "-mig-" + kind + "-" + std::to_string(placement);
}

void add_common(api::Device& device, int node, int gpu, const char* type) {
  const std::string uuid = "GPU-" + std::to_string(node) + "-" + std::to_string(gpu);
  device.attributes["type"] = std::string(type);
  device.attributes[std::string(type) == "mig" ? "parentUUID" : "uuid"] = uuid;
  device.attributes["driverVersion"] = api::VersionText{"570.86.15"};
  device.attributes["cudaComputeCapability"] = api::VersionText{"8.0.0"};
  device.attributes["resource.kubernetes.io/pcieRoot"] = "pci0000:" + std::to_string(gpu / 2);
}

api::Device whole_gpu(int node, int gpu, const std::string& product) {
  api::Device device;
  device.name = gpu_name(gpu);
  add_common(device, node, gpu, "gpu");
  device.attributes["productName"] = product;
  device.attributes["index"] = int64_t{gpu};
  device.capacity["memory"].value = "80Gi";
  api::DeviceCounterConsumption& uses = device.consumes_counters.emplace_back();
  uses.counter_set = set_name(gpu);
  uses.counters["memory"] = "80Gi";
  for (int slice = 0; slice < 8; ++slice) uses.counters["slice-" + std::to_string(slice)] = "1";
  return device;
}

api::Device partition(int node, int gpu, const Profile& profile, int placement, const std::string& product) {
  api::Device device;
  device.name = partition_name(gpu, profile, placement);
  add_common(device, node, gpu, "mig");
  device.attributes["productName"] = product;
  device.attributes["profile"] = std::string(profile.name);
  device.capacity["memory"].value = profile.memory;
  api::DeviceCounterConsumption& uses = device.consumes_counters.emplace_back();
  uses.counter_set = set_name(gpu);
  uses.counters["memory"] = profile.memory;
  const int start = profile.first + placement * profile.slices;
  for (int slice = start; slice < start + profile.slices; ++slice)
    uses.counters["slice-" + std::to_string(slice)] = "1";
  return device;
}

api::DeviceRequest ask_for(const std::string& name, const std::string& device_class, int64_t count,
                           std::vector<std::string> selectors = {}) {
  api::DeviceRequest request;
  request.name = name;
  request.exactly = api::DeviceSubRequest{};
  request.exactly->device_class_name = device_class;
  request.exactly->allocation_mode = "ExactCount";
  request.exactly->count = count;
  request.exactly->selectors = std::move(selectors);
  return request;
}

std::string profile_is(const std::string& profile) {
  return "device.attributes[\"gpu.example.com\"].profile == \"" + profile + "\"";
}

api::AllocationResult hold(int node, std::string device) {
  api::AllocationResult out;
  api::DeviceRequestAllocationResult& entry = out.results.emplace_back();
  entry.request = "gpu";
  entry.driver = kDriver;
  entry.pool = node_name(node);
  entry.device = std::move(device);
  return out;
}

}  // namespace

std::string node_name(int node) {
  std::string digits = std::to_string(node);
  return "node-" + std::string(5 - digits.size(), '0') + digits;
}

std::vector<api::ResourceSlice> node_slices(int node, const std::string& product) {
  api::ResourceSlice base;
  base.driver = kDriver;
  base.pool = {node_name(node), 1, 4};
  base.node_name = node_name(node);
  std::vector<api::ResourceSlice> out(4, base);
  // A slice may have at most 64 devices with counters.
  constexpr size_t kPerSlice = 54;
  size_t filled = 0;
  auto add = [&](api::Device device) { out[filled++ / kPerSlice].devices.push_back(std::move(device)); };
  for (int gpu = 0; gpu < kGpusPerNode; ++gpu) {
    add(whole_gpu(node, gpu, product));
    for (const Profile& profile : kProfiles)
      for (int placement = 0; placement < profile.count; ++placement)
        add(partition(node, gpu, profile, placement, product));
    api::CounterSet& set = out[3].shared_counters.emplace_back();
    set.name = set_name(gpu);
    set.counters["memory"] = "80Gi";
    for (int slice = 0; slice < 8; ++slice) set.counters["slice-" + std::to_string(slice)] = "1";
  }
  for (size_t s = 0; s < out.size(); ++s) out[s].metadata.name = node_name(node) + "-" + std::to_string(s);
  return out;
}

std::vector<api::DeviceClass> fleet_classes() {
  std::vector<api::DeviceClass> out(2);
  out[0].metadata.name = "gpu";
  out[0].selectors = {"device.driver == \"gpu.example.com\" && device.attributes[\"gpu.example.com\"].type == \"gpu\""};
  out[1].metadata.name = "mig";
  out[1].selectors = {"device.driver == \"gpu.example.com\" && device.attributes[\"gpu.example.com\"].type == \"mig\""};
  return out;
}

api::AllocationResult hold_gpu(int node, int gpu) {
  return hold(node, gpu_name(gpu));
}

api::AllocationResult hold_small(int node, int gpu, int slot) {
  return hold(node, partition_name(gpu, kProfiles[0], slot));
}

std::shared_ptr<const api::ResourceClaim> make_claim(Ask ask, const std::string& uid) {
  auto claim = std::make_shared<api::ResourceClaim>();
  claim->metadata.name = uid;
  claim->metadata.ns = "default";
  claim->metadata.uid = uid;
  auto& requests = claim->spec.requests;
  switch (ask) {
    case Ask::kOneGpu:
      requests.push_back(ask_for("gpu", "gpu", 1));
      break;
    case Ask::kMigPair:
      requests.push_back(ask_for("large", "mig", 1, {profile_is("3g.40gb")}));
      requests.push_back(ask_for("small", "mig", 1, {profile_is("1g.10gb")}));
      claim->spec.constraints.push_back({{}, "gpu.example.com/parentUUID", std::nullopt});
      break;
    case Ask::kEightGpus:
      requests.push_back(ask_for("gpu", "gpu", 8));
      break;
    case Ask::kTooMany:
      requests.push_back(ask_for("gpu", "gpu", 9));
      break;
    case Ask::kNoSuchProduct:
      requests.push_back(ask_for("gpu", "gpu", 1, {"device.attributes[\"gpu.example.com\"].productName == \"H999\""}));
  }
  return claim;
}

}  // namespace dra::bench
