// Nodes with GPUs, and groups that want them, for tests of the search.
#pragma once

#include <gtest/gtest.h>

#include <set>

#include "pkg/base/clock.h"
#include "pkg/gang/gang.h"
#include "pkg/gang/testing/cpu_nodes.h"

namespace dra::gang::gang_test {

inline constexpr const char* kDriver = "gpu.example.com";

class GangTest : public testing::Test {
 protected:
  GangTest() : allocator_(inventory_, {}, random_) {
    api::DeviceClass gpu;
    gpu.metadata.name = "gpu";
    gpu.selectors.push_back(std::string("device.driver == \"") + kDriver + "\"");
    inventory_.apply_class(gpu);
  }

  void add_node(const std::string& name, int gpus, const std::string& rack = "", int64_t cpu = 1000) {
    CpuNodes::Node node{inventory_.apply_node(name, {}), cpu, {}};
    if (!rack.empty()) node.labels = {{"rack", rack}, {"spine", rack.substr(0, 1)}};
    nodes_.push_back(std::move(node));
    api::ResourceSlice slice;
    slice.metadata.name = name;
    slice.driver = kDriver;
    slice.node_name = name;
    slice.pool = {name, 1, 1};
    for (int i = 0; i < gpus; ++i) slice.devices.emplace_back().name = "gpu-" + std::to_string(i);
    inventory_.apply_slice(slice);
  }

  // The node's devices carry the attribute, each with the value at its index; "": without it.
  void set_clique(const std::string& node, const std::vector<std::string>& values) {
    api::ResourceSlice slice;
    slice.metadata.name = node;
    slice.driver = kDriver;
    slice.node_name = node;
    slice.pool = {node, ++generation_, 1};
    for (size_t i = 0; i < values.size(); ++i) {
      api::Device& device = slice.devices.emplace_back();
      device.name = "gpu-" + std::to_string(i);
      if (!values[i].empty()) device.attributes["clique"] = values[i];
    }
    inventory_.apply_slice(slice);
  }

  static api::DeviceSubRequest wants(const std::string& device_class, int count) {
    api::DeviceSubRequest body;
    body.device_class_name = device_class;
    body.allocation_mode = "ExactCount";
    body.count = count;
    return body;
  }

  std::shared_ptr<const api::ResourceClaim> claim(const std::string& uid, int gpus) {
    auto made = std::make_shared<api::ResourceClaim>();
    made->metadata.name = made->metadata.uid = uid;
    made->metadata.ns = "default";
    made->spec.requests.push_back({"gpu", wants("gpu", gpus), {}});
    return made;
  }

  void add_members(int count, int gpus, int64_t cpu = 0) {
    for (int i = 0; i < count; ++i) {
      Member& member = request_.members.emplace_back();
      member.name = member.uid = "pod-" + std::to_string(request_.members.size());
      member.shape = std::to_string(gpus) + " gpus, cpu " + std::to_string(cpu);
      member.claims.push_back(claim("claim-" + std::to_string(request_.members.size()), gpus));
      cpu_.push_back(cpu);
    }
    request_.min_count = static_cast<uint32_t>(request_.members.size());
    request_.uid = request_.name = "default/group";
  }

  Decision decide(const Options& options = {}) {
    Gangs gangs(inventory_, allocator_, options);
    CpuNodes nodes(nodes_, cpu_);
    nodes.set_counted(counted_);
    Decision decision;
    do decision = gangs.decide(request_, nodes);
    while (decision.outcome == Outcome::kUnfinished && ++slices_ < 10'000);
    EXPECT_EQ(nodes.placed(), 0u);
    EXPECT_EQ(inventory_.claim_count(), held_);
    return decision;
  }

  void hold(const std::string& node, int gpu) {
    api::AllocationResult result;
    api::DeviceRequestAllocationResult& device = result.results.emplace_back();
    device.request = "gpu";
    device.driver = kDriver;
    device.pool = node;
    device.device = "gpu-" + std::to_string(gpu);
    inventory_.apply_allocation("holder-" + node + std::to_string(gpu), result);
    ++held_;
  }

  std::set<std::string> nodes_of(const Decision& decision) const {
    std::set<std::string> names;
    for (const Placed& placed : decision.members) names.insert(inventory_.node_name(placed.node));
    return names;
  }

  inventory::Inventory inventory_{inventory::Features::all()};
  SeededRandom random_{1};
  allocator::Allocator allocator_;
  std::vector<CpuNodes::Node> nodes_;
  std::vector<int64_t> cpu_;  // by member
  GangRequest request_;
  size_t held_ = 0;
  int slices_ = 0;
  int64_t generation_ = 1;
  bool counted_ = true;
};

}  // namespace dra::gang::gang_test
