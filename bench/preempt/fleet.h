// The fleet that the benchmarks ask about: 5,000 nodes of 8 GPUs with six pods each, which hold 1, 1, 1, 1, 2 and 2
// GPUs and have random priorities and ages; 200 PodDisruptionBudgets cover half of them, and a third of these allow no
// eviction.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "controllers/preemption/world.h"
#include "pkg/base/clock.h"
#include "pkg/base/random.h"
#include "pkg/preempt/facts.h"
#include "pkg/preempt/preempt.h"
#include "pkg/protocol/memory_view.h"

namespace dra::preempt {

inline constexpr int kNodes = 5000;
inline constexpr int kGpus = 8;
inline constexpr int kBudgets = 200;
inline constexpr int kGroup = 64;
inline constexpr int kNamespaces = 200;
inline constexpr int kBudgetsToRead = 2000;
inline constexpr const char* kDriver = "gpu.example.com";
inline constexpr int kSizes[] = {1, 1, 1, 1, 2, 2};
inline constexpr int kPriorities[] = {0, 10, 10, 100, 500, 2000};

struct Question {
  const char* name;
  int pods;
  int gpus;  // of each
  int cpu;   // of each
  int priority;
  bool one_numa_node = false;
};

class CpuClock : public Clock {
 public:
  WallTime wall_now() const override { return {}; }
  MonoTime mono_now() const override { return MonoTime{thread_processor_time()}; }
};

class Fleet {
 public:
  explicit Fleet(uint64_t seed) : random_(seed) {
    world_ = std::make_unique<World>(World{inventory_, allocator_, cluster_, {}, {}, {}, {}, {}, {}, {}});
    api::DeviceClass gpu;
    gpu.metadata.name = "gpu";
    gpu.selectors.push_back("device.driver == \"" + std::string(kDriver) + "\"");
    inventory_.apply_class(gpu);
    for (int n = 0; n < kNodes; ++n) add_node(n);
    for (int n = 0; n < kNodes; ++n) add_pods(n);
    add_budgets();
  }

  Answer ask(const Question& question) {
    const size_t pods = world_->pods.size(), claims = world_->claims.size();
    world_->pending.clear();
    for (int i = 0; i < question.pods; ++i) {
      world_->pending.push_back(static_cast<uint32_t>(world_->pods.size()));
      add_pod("train-" + std::to_string(i), question.priority, question.cpu, "", {}, question.gpus);
      world_->pods.back().shape = "train";
      if (question.pods > 1) world_->pods.back().group = 0;
      if (question.one_numa_node) limit_to_numa_node();
    }
    if (question.pods > 1) world_->groups.push_back({"ns/train", static_cast<uint32_t>(question.pods), false});
    const CpuClock clock;
    Options options;
    options.clock = &clock;
    options.time = std::chrono::seconds(5);
    Answer answer = who_must_go(*world_, options);
    world_->pods.resize(pods);
    world_->claims.resize(claims);
    world_->groups.clear();
    return answer;
  }

  // The same as the manager asks it of its view (controllers/preemption/world.h), with 2,000 budgets in 200 namespaces.
  // Of a pod alone; and how long it took.
  std::pair<Answer, Duration> ask_of_view(const Question& question) {
    const size_t pods = world_->pods.size(), claims = world_->claims.size();
    add_pod("train-0", question.priority, question.cpu, "", {}, question.gpus);
    FleetView view;
    for (const Pod& pod : world_->pods) view.fleet_pods.push_back(pod.object);
    view.fleet_claims = world_->claims;
    if (question.gpus > 0) view.put(*world_->claims.back());
    view.put(named<api::DeviceClass>("gpu"));
    view.fleet_budgets = budgets_to_read();
    FleetChooser chooser(cluster_);
    preemption::Options options;
    options.scheduler_names = {"ours"};
    const Duration begun = thread_processor_time();
    Answer answer;
    {
      preemption::LiveWorld live(view, {inventory_, allocator_, chooser}, options);
      const preemption::LiveWorld::Refusal refusal = live.ask_for(*world_->pods.back().object);
      if (refusal.why.empty()) answer = live.answer();
    }
    const Duration took = thread_processor_time() - begun;
    world_->pods.resize(pods);
    world_->claims.resize(claims);
    return {std::move(answer), took};
  }

  // How many pods these budgets select, all together.
  size_t read_budgets() {
    const size_t before = world_->budgets.size();
    preempt::add_budgets(*world_, budgets_to_read());
    size_t covered = 0;
    for (size_t i = before; i < world_->budgets.size(); ++i) covered += world_->budgets[i].covers.size();
    world_->budgets.resize(before);
    return covered;
  }

 private:
  // What the manager has of the cluster: objects that are shared, as its stores have them.
  struct FleetView : protocol::MemoryView {
    std::vector<std::shared_ptr<const api::Pod>> fleet_pods;
    std::vector<std::shared_ptr<const api::ResourceClaim>> fleet_claims;
    std::vector<std::shared_ptr<const api::PodDisruptionBudget>> fleet_budgets;
    std::vector<std::shared_ptr<const api::Pod>> all_pods() const override { return fleet_pods; }
    std::vector<std::shared_ptr<const api::ResourceClaim>> all_streamed_claims() const override { return fleet_claims; }
    std::optional<std::vector<std::shared_ptr<const api::PodDisruptionBudget>>> budgets() const override {
      return fleet_budgets;
    }
  };

  struct FleetChooser : nodes::NodeChooser {
    explicit FleetChooser(placement::Cluster& cluster) : cluster_(cluster) {}
    nodes::NodeChoice choose(const api::Pod&, const std::vector<std::string>&) override { return {}; }
    bool matches(const api::NodeSelector&, const std::string&) override { return false; }
    std::vector<std::string> all_nodes() override { return {}; }
    placement::Cluster* cluster() override { return &cluster_; }
    placement::Cluster& cluster_;
  };

  template <class T>
  static T named(const std::string& name) {
    T object;
    object.metadata.name = name;
    return object;
  }

  static std::vector<std::shared_ptr<const api::PodDisruptionBudget>> budgets_to_read() {
    std::vector<std::shared_ptr<const api::PodDisruptionBudget>> all;
    for (int i = 0; i < kBudgetsToRead; ++i) {
      auto budget = std::make_shared<api::PodDisruptionBudget>();
      budget->metadata.ns = "ns-" + std::to_string(i % kNamespaces);
      budget->metadata.name = std::to_string(i);
      budget->selector.emplace().match_labels["app"] = std::to_string(i / kNamespaces);
      budget->disruptions_allowed = i % 3;
      all.push_back(std::move(budget));
    }
    return all;
  }

  static std::string node_name(int n) { return "node-" + std::to_string(n); }

  void add_node(int n) {
    auto node = std::make_shared<api::Node>();
    node->metadata.name = node_name(n);
    node->allocatable = {{"cpu", "64"}, {"memory", "512Gi"}, {"pods", "110"}};
    cluster_.set_node(node);
    inventory_.apply_node(std::shared_ptr<const api::Node>(node));
    api::ResourceSlice slice;
    slice.metadata.name = node_name(n);
    slice.driver = kDriver;
    slice.node_name = node_name(n);
    slice.pool = {node_name(n), 1, 1};
    for (int i = 0; i < kGpus; ++i) {
      api::Device& device = slice.devices.emplace_back();
      device.name = "gpu-" + std::to_string(i);
      device.attributes["uuid"] = node_name(n) + "/" + device.name;
      device.attributes["numa"] = int64_t{i / 4};
    }
    inventory_.apply_slice(slice);
  }

  void add_pods(int n) {
    int gpu = 0;
    for (const int size : kSizes) {
      std::vector<int> gpus;
      for (int i = 0; i < size; ++i) gpus.push_back(gpu++);
      const int priority = kPriorities[random_.below(std::size(kPriorities))];
      add_pod("p-" + std::to_string(world_->pods.size()), priority, 8, node_name(n), gpus, size);
      world_->pods.back().start = static_cast<int64_t>(1'700'000'000 + random_.below(10'000'000));
    }
  }

  void add_pod(const std::string& name, int priority, int cpu, const std::string& node, const std::vector<int>& held,
               int gpus) {
    auto pod = std::make_shared<api::Pod>();
    pod->metadata.ns = node.empty() ? "ns" : "ns-" + std::to_string(world_->pods.size() % kNamespaces);
    pod->metadata.labels["app"] = std::to_string(world_->pods.size() / kNamespaces % (kBudgetsToRead / kNamespaces));
    pod->metadata.name = name;
    pod->metadata.uid = "uid-" + name;
    pod->metadata.owner_references.push_back({"apps/v1", "ReplicaSet", "rs", "uid-rs", true});
    pod->priority = priority;
    pod->scheduler_name = "ours";
    if (gpus > 0) pod->resource_claims.push_back({"gpu", name + "-gpu", std::nullopt});
    pod->node_name = node;
    pod->phase = node.empty() ? "Pending" : "Running";
    pod->containers.emplace_back().requests = {{"cpu", std::to_string(cpu)}, {"memory", "8Gi"}};
    Pod& out = world_->pods.emplace_back();
    if (gpus > 0) {
      out.claims.push_back(static_cast<uint32_t>(world_->claims.size()));
      add_claim(*pod, held, gpus);
    }
    if (!node.empty()) cluster_.set_pod(*pod, node, false);
    out.object = std::move(pod);
  }

  void add_claim(const api::Pod& pod, const std::vector<int>& held, int gpus) {
    auto claim = std::make_shared<api::ResourceClaim>();
    claim->metadata.ns = pod.metadata.ns;
    claim->metadata.name = pod.metadata.name + "-gpu";
    claim->metadata.uid = "uid-" + claim->metadata.name;
    api::DeviceSubRequest exactly;
    exactly.device_class_name = "gpu";
    exactly.allocation_mode = "ExactCount";
    exactly.count = gpus;
    claim->spec.requests.push_back({"gpu", exactly, {}});
    if (!held.empty()) {
      auto& allocation = claim->status.allocation.emplace();
      for (const int gpu : held)
        allocation.results.push_back({"gpu", kDriver, pod.node_name, "gpu-" + std::to_string(gpu)});
      api::NodeSelectorTerm term;
      term.match_fields.push_back({"metadata.name", "In", {pod.node_name}});
      allocation.node_selector.emplace().terms.push_back(term);
      claim->status.reserved_for.push_back({"", "pods", pod.metadata.name, pod.metadata.uid});
    }
    inventory_.apply_claim(*claim);
    world_->claims.push_back(std::move(claim));
  }

  void limit_to_numa_node() {
    auto claim = std::make_shared<api::ResourceClaim>(*world_->claims.back());
    claim->spec.constraints.push_back({{"gpu"}, std::string(kDriver) + "/numa"});
    world_->claims.back() = std::move(claim);
  }

  void add_budgets() {
    world_->budgets.resize(kBudgets);
    for (int i = 0; i < kBudgets; ++i) {
      world_->budgets[i].name = "ns/b" + std::to_string(i);
      world_->budgets[i].allowed = i % 3;
    }
    for (uint32_t pod = 0; pod < world_->pods.size(); pod += 2) {
      Budget& budget = world_->budgets[pod / 2 % kBudgets];
      budget.covers.push_back(pod);
      budget.pods.push_back(pod);
    }
  }

  inventory::Inventory inventory_{inventory::Features::all()};
  placement::Cluster cluster_;
  SeededRandom random_;
  allocator::Allocator allocator_{inventory_, {}, random_};
  std::unique_ptr<World> world_;
};

}  // namespace dra::preempt
