#include "pkg/preempt/testing/build.h"

#include <algorithm>

#include "pkg/preempt/facts.h"

namespace dra::preempt::testing {
namespace {

constexpr const char* kTestDriver = "gpu.example.com";
constexpr const char* kNamespace = "ns";
const std::vector<const char*> kClassNames = {"gpu", "partition", "shared"};

std::string gib(int number) {
  return std::to_string(number) + "Gi";
}

std::string pool_of(const ModelDevice& device) {
  return device.node < 0 ? "fabric" : "n" + std::to_string(device.node);
}

}  // namespace

int Built::number_in(const std::string& name) {
  return std::stoi(name.substr(name.find_first_of("0123456789")));
}

Built::Built(const Model& model) : model_(model) {
  world_ = std::make_unique<World>(World{inventory_, allocator_, cluster_, {}, {}, {}, {}, {}, {}, {}});
  for (size_t i = 0; i < model.cpu.size(); ++i) {
    auto node = std::make_shared<api::Node>();
    node->metadata.name = "n" + std::to_string(i);
    node->metadata.labels["name"] = node->metadata.name;
    node->unschedulable = model.cordoned[i];
    node->allocatable = {{"cpu", std::to_string(model.cpu[i])}, {"memory", "64Gi"}, {"pods", "110"}};
    cluster_.set_node(node);
    inventory_.apply_node(std::shared_ptr<const api::Node>(node));
    nodes_.push_back(std::move(node));
  }
  add_classes();
  add_slices();
  add_claims();
  add_pods();
  add_rest();
}

void Built::add_classes() {
  for (const char* name : kClassNames) {
    api::DeviceClass one;
    one.metadata.name = name;
    one.selectors.push_back("device.attributes[\"" + std::string(kTestDriver) + "\"].kind == \"" + name + "\"");
    inventory_.apply_class(one);
    classes_.push_back(std::move(one));
  }
}

void Built::add_slices() {
  std::map<std::string, api::ResourceSlice> devices, counters;
  for (const ModelDevice& one : model_.devices) {
    const std::string pool = pool_of(one);
    for (auto* slices : {&devices, &counters}) {
      api::ResourceSlice& slice = (*slices)[pool];
      slice.metadata.name = pool + (slices == &devices ? "-devices" : "-counters");
      slice.driver = kTestDriver;
      slice.pool = {pool, 1, 2};
      slice.all_nodes = one.node < 0;
      if (one.node >= 0) slice.node_name = pool;
    }
    api::Device& device = devices[pool].devices.emplace_back();
    device.name = one.name;
    device.attributes["kind"] = std::string(kClassNames[static_cast<size_t>(one.kind)]);
    device.attributes["slices"] = int64_t{__builtin_popcount(one.slices)};
    device.capacity["memory"].value = gib(one.gib);
    device.allow_multiple_allocations = one.kind == DeviceKind::kShared;
    if (one.kind != DeviceKind::kPartition) continue;
    api::DeviceCounterConsumption& use = device.consumes_counters.emplace_back();
    use.counter_set = "card-" + std::to_string(one.card);
    for (int s = 0; s < 4; ++s)
      if ((one.slices >> s) & 1) use.counters["slice-" + std::to_string(s)] = "1";
    auto& sets = counters[pool].shared_counters;
    if (std::any_of(sets.begin(), sets.end(), [&](const auto& set) { return set.name == use.counter_set; })) continue;
    api::CounterSet& set = sets.emplace_back();
    set.name = use.counter_set;
    for (int s = 0; s < 4; ++s) set.counters["slice-" + std::to_string(s)] = "1";
  }
  for (const auto* all : {&devices, &counters})
    for (const auto& [pool, slice] : *all) {
      inventory_.apply_slice(slice);
      slices_.push_back(slice);
    }
}

api::AllocationResult Built::allocation_of(const ModelClaim& claim, const std::vector<int>& devices) const {
  api::AllocationResult allocation;
  int node = -1;
  for (const int device : devices) {
    const ModelDevice& one = model_.devices[device];
    node = std::max(node, one.node);
    api::DeviceRequestAllocationResult& result = allocation.results.emplace_back();
    result.request = "r";
    result.driver = kTestDriver;
    result.pool = pool_of(one);
    result.device = one.name;
    if (claim.kind != DeviceKind::kShared) continue;
    result.share_id = "any";
    result.consumed_capacity["memory"] = gib(claim.size);
  }
  if (node < 0) return allocation;
  api::NodeSelectorTerm term;
  term.match_fields.push_back({"metadata.name", "In", {"n" + std::to_string(node)}});
  allocation.node_selector.emplace().terms.push_back(term);
  return allocation;
}

void Built::add_claims() {
  for (size_t i = 0; i < model_.claims.size(); ++i) {
    const ModelClaim& one = model_.claims[i];
    auto claim = std::make_shared<api::ResourceClaim>();
    claim->metadata.name = "c" + std::to_string(i);
    claim->metadata.ns = kNamespace;
    claim->metadata.uid = "uid-c" + std::to_string(i);
    api::DeviceSubRequest exactly;
    exactly.device_class_name = kClassNames[static_cast<size_t>(one.kind)];
    exactly.allocation_mode = "ExactCount";
    exactly.count = one.kind == DeviceKind::kGpu ? one.count : 1;
    if (one.kind == DeviceKind::kPartition)
      exactly.selectors.push_back("device.attributes[\"" + std::string(kTestDriver) +
                                  "\"].slices == " + std::to_string(one.size));
    if (one.kind == DeviceKind::kShared) exactly.capacity_requests["memory"] = gib(one.size);
    claim->spec.requests.push_back({"r", exactly, {}});
    if (!one.devices.empty()) {
      claim->status.allocation = allocation_of(one, one.devices);
      for (const int pod : one.pods)
        claim->status.reserved_for.push_back({"", "pods", "p" + std::to_string(pod), "uid-p" + std::to_string(pod)});
      if (one.stranger) claim->status.reserved_for.push_back({"", "pods", "stranger", "uid-stranger"});
    }
    inventory_.apply_claim(*claim);
    world_->claims.push_back(std::move(claim));
  }
}

void Built::add_pods() {
  for (size_t i = 0; i < model_.pods.size(); ++i) {
    const ModelPod& one = model_.pods[i];
    auto pod = std::make_shared<api::Pod>();
    pod->metadata.name = "p" + std::to_string(i);
    pod->metadata.ns = kNamespace;
    pod->metadata.uid = "uid-p" + std::to_string(i);
    pod->metadata.labels["app"] = std::to_string(one.app);
    pod->phase = one.node < 0 ? "Pending" : "Running";
    pod->priority = one.priority;
    if (one.node >= 0) pod->node_name = "n" + std::to_string(one.node);
    if (one.only >= 0) pod->node_selector["name"] = "n" + std::to_string(one.only);
    if (one.terminates) pod->metadata.deletion_timestamp = "2026-06-01T12:00:00Z";
    if (one.mirror) pod->metadata.annotations["kubernetes.io/config.mirror"] = "x";
    if (one.kept) pod->metadata.annotations[std::string(kDoNotMove)] = "true";
    if (one.owned) pod->metadata.owner_references.push_back({"apps/v1", "ReplicaSet", "rs", "uid-rs", true});
    if (one.group >= 0) pod->pod_group_name = "g" + std::to_string(one.group);
    if (one.not_ready) pod->conditions.push_back({"Ready", "False", "", "", "", 0});
    pod->containers.emplace_back().requests["cpu"] = std::to_string(one.cpu);
    Pod& out = world_->pods.emplace_back();
    for (const int claim : one.claims) {
      const std::string name = "c" + std::to_string(claim);
      pod->resource_claims.push_back({name, name, std::nullopt});
      out.claims.push_back(static_cast<uint32_t>(claim));
    }
    out.start = one.start;
    out.shape = shape_of(one);
    out.preempts = !one.never_preempts;
    out.ours = !one.foreign;
    if (one.node >= 0) cluster_.set_pod(*pod, pod->node_name, false);
    out.object = std::move(pod);
  }
}

// Pods that wait and share no claim, by all that their places depend on; empty: any other pod.
std::string Built::shape_of(const ModelPod& pod) const {
  if (pod.node >= 0) return "";
  std::string shape = std::to_string(pod.cpu) + "/" + std::to_string(pod.only);
  for (const int number : pod.claims) {
    const ModelClaim& claim = model_.claims[static_cast<size_t>(number)];
    const auto users = std::count_if(model_.pods.begin(), model_.pods.end(), [number](const ModelPod& other) {
      return std::find(other.claims.begin(), other.claims.end(), number) != other.claims.end();
    });
    if (users > 1 || !claim.devices.empty()) return "";
    for (const int part : {static_cast<int>(claim.kind), claim.size, claim.count}) shape += "/" + std::to_string(part);
  }
  return shape;
}

void Built::add_rest() {
  std::vector<PodGroupFacts> groups;
  for (size_t i = 0; i < model_.groups.size(); ++i)
    groups.push_back({false, std::string(kNamespace) + "/g" + std::to_string(i), model_.groups[i].min_count,
                      model_.groups[i].whole});
  join_groups(*world_, groups);
  std::vector<std::shared_ptr<const api::PodDisruptionBudget>> budgets;
  for (const ModelBudget& one : model_.budgets) {
    auto budget = std::make_shared<api::PodDisruptionBudget>();
    budget->metadata.ns = kNamespace;
    budget->metadata.name = "b";
    budget->selector.emplace().match_labels["app"] = std::to_string(one.app);
    budget->disruptions_allowed = one.allowed;
    budget->always_allow = true;
    budgets.push_back(std::move(budget));
  }
  add_budgets(*world_, budgets);
  const auto name_of = [](const char* kind, int number) {
    return std::string(kNamespace) + "/" + kind + std::to_string(number);
  };
  for (const ModelPromise& one : model_.promises) {
    Promise& promise = world_->promises.emplace_back();
    for (const auto& [pod, node] : one.places) promise.placements[name_of("p", pod)] = "n" + std::to_string(node);
    for (const auto& [claim, devices] : one.allocations)
      promise.allocations[name_of("c", claim)] = allocation_of(model_.claims[claim], devices);
    for (const int victim : one.victims) promise.victims.push_back(victim < 0 ? "ns/gone" : name_of("p", victim));
  }
  for (const int pod : model_.pending) world_->pending.push_back(static_cast<uint32_t>(pod));
  if (model_.max_moves >= 0) world_->max_moves = static_cast<uint32_t>(model_.max_moves);
  measure(*world_, [this](const api::DeviceRequestAllocationResult& result) {
    for (const ModelDevice& device : model_.devices)
      if (device.name == result.device) return static_cast<double>(device.gib);
    return 0.0;
  });
}

std::vector<int> Built::devices_of(const api::AllocationResult& allocation) const {
  std::vector<int> out;
  for (const api::DeviceRequestAllocationResult& result : allocation.results)
    for (size_t i = 0; i < model_.devices.size(); ++i)
      if (model_.devices[i].name == result.device) out.push_back(static_cast<int>(i));
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace dra::preempt::testing
