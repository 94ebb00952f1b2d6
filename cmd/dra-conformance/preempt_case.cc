#include "cmd/dra-conformance/preempt_case.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <unordered_map>

#include "pkg/api/decode/decode.h"
#include "pkg/api/selectors.h"
#include "pkg/base/timestamp.h"
#include "pkg/preempt/facts.h"
#include "test/oracle/amount.h"

namespace dra::conformance {
namespace {

using nlohmann::json;

template <class T>
T decoded(const json& source, const char* what) {
  Result<T> object = api::decode<T>(source.dump());
  if (!object) throw std::runtime_error(std::string(what) + ": " + object.error().message());
  return std::move(*object);
}

json map_of(const json& source, const char* member) {
  return source.value(member, json::object());
}
json list_of(const json& source, const char* member) {
  return source.value(member, json::array());
}

std::string key_of(const json& object) {
  const json& meta = object.at("metadata");
  return meta.value("namespace", "default") + "/" + meta.at("name").get<std::string>();
}

int64_t seconds_of(const std::string& text) {
  Timestamp time;
  return parse_rfc3339(text, time) ? time.seconds() : 0;
}

// Allocations of the cases have no node selector: where one can be used follows from its devices.
class Reach {
 public:
  explicit Reach(const oracle::World& world) : world_(world) {}

  void fill(api::AllocationResult& allocation) const {
    if (allocation.node_selector) return;
    std::vector<std::string> names;
    for (const api::Node& node : world_.nodes)
      if (std::all_of(allocation.results.begin(), allocation.results.end(),
                      [&](const auto& result) { return is_on(result, node); }))
        names.push_back(node.metadata.name);
    if (names.size() == world_.nodes.size()) return;
    api::NodeSelectorTerm term;
    term.match_fields.push_back({"metadata.name", "In", std::move(names)});
    allocation.node_selector.emplace().terms.push_back(std::move(term));
  }

  const api::Device* device(const api::DeviceRequestAllocationResult& result) const {
    for (const api::ResourceSlice& slice : world_.slices)
      if (slice.driver == result.driver && slice.pool.name == result.pool)
        for (const api::Device& device : slice.devices)
          if (device.name == result.device) return &device;
    return nullptr;
  }

 private:
  bool is_on(const api::DeviceRequestAllocationResult& result, const api::Node& node) const {
    for (const api::ResourceSlice& slice : world_.slices) {
      if (slice.driver != result.driver || slice.pool.name != result.pool) continue;
      for (const api::Device& device : slice.devices)
        if (device.name == result.device && sees(slice, device, node)) return true;
    }
    return false;
  }

  template <class T>
  static bool names(const T& one, const api::Node& node) {
    if (one.all_nodes || one.node_name == node.metadata.name) return true;
    return one.node_selector && api::matches(*one.node_selector, node.metadata.name, node.metadata.labels);
  }
  static bool sees(const api::ResourceSlice& slice, const api::Device& device, const api::Node& node) {
    return slice.per_device_node_selection ? names(device, node) : names(slice, node);
  }

  const oracle::World& world_;
};

std::vector<preempt::PodGroupFacts> read_groups(const json& source) {
  std::vector<preempt::PodGroupFacts> groups;
  for (const json& group : list_of(source, "podGroups")) {
    const json spec = group.value("spec", json::object());
    preempt::PodGroupFacts& facts = groups.emplace_back();
    facts.of_plugins = group.value("apiVersion", "").starts_with("scheduling.x-k8s.io/");
    facts.key = key_of(group);
    facts.whole = spec.value("disruptionMode", "") == "PodGroup";
    const json policy = spec.value("schedulingPolicy", json::object());
    if (facts.of_plugins && spec.contains("minMember")) facts.min_count = spec["minMember"].get<int64_t>();
    if (policy.contains("gang")) facts.min_count = policy["gang"].value("minCount", int64_t{1});
  }
  return groups;
}

preempt::Promise read_promise(const json& source, const Reach& reach) {
  preempt::Promise promise;
  const json placements = map_of(source, "placements"), allocations = map_of(source, "allocations");
  for (const auto& [pod, node] : placements.items()) promise.placements[pod] = node.get<std::string>();
  // An allocation is decoded as part of a claim.
  for (const auto& [name, allocation] : allocations.items()) {
    const json claim = {{"metadata", {{"name", "promised"}}}, {"status", {{"allocation", allocation}}}};
    api::AllocationResult result =
        decoded<api::ResourceClaim>(claim, "promises").status.allocation.value_or(api::AllocationResult{});
    reach.fill(result);
    promise.allocations[name] = std::move(result);
  }
  promise.victims = source.value("victims", std::vector<std::string>{});
  promise.victim_claims = source.value("victimClaims", std::vector<std::string>{});
  return promise;
}

void read_expectation(const json& source, PreemptExpectation& expect) {
  const json& from = source.value("expect", json::object());
  expect.verdict = from.value("verdict", "");
  expect.key = from.value("key", std::vector<double>{});
  expect.fixed = from.value("fixed", false);
  expect.pods = from.value(from.contains("moves") ? "moves" : "victims", std::vector<std::string>{});
  expect.placements = from.value("placements", std::map<std::string, std::string>{});
}

void read_pods(const json& source, preempt::World& world, placement::Cluster& cluster) {
  std::unordered_map<std::string, uint32_t> claims, pods;
  for (uint32_t i = 0; i < world.claims.size(); ++i) claims.emplace(world.claims[i]->metadata.key(), i);
  std::vector<std::string> replacing;
  for (const json& job : list_of(source, "jobs"))
    if (job.value("spec", json::object()).value("podReplacementPolicy", "") == "Failed")
      replacing.push_back(key_of(job));
  for (const json& one : list_of(source, "pods")) {
    auto object = std::make_shared<api::Pod>(decoded<api::Pod>(one, "pods"));
    preempt::Pod& pod = world.pods.emplace_back();
    pod.object = object;
    for (const api::PodResourceClaim& claim : object->resource_claims) {
      const auto found = claims.find(object->metadata.ns + "/" + claim.resource_claim_name.value_or(""));
      if (found == claims.end())
        throw std::runtime_error("pods: " + object->metadata.key() + " names an unknown claim");
      pod.claims.push_back(found->second);
    }
    const json spec = one.value("spec", json::object());
    pod.start = seconds_of(one.value("status", json::object()).value("startTime", ""));
    pod.preempts = spec.value("preemptionPolicy", "") != "Never";
    pod.ours = !spec.contains("schedulerName");
    for (const json& reference : list_of(one.at("metadata"), "ownerReferences"))
      pod.of_node = pod.of_node || reference.value("kind", "") == "Node";
    const api::OwnerReference* owner = object->metadata.controller();
    pod.replaced =
        owner == nullptr || owner->kind != "Job" ||
        std::find(replacing.begin(), replacing.end(), object->metadata.ns + "/" + owner->name) != replacing.end();
    if (pod.has_node()) cluster.set_pod(*object, object->node_name, false);
    pods.emplace(object->metadata.key(), static_cast<uint32_t>(world.pods.size() - 1));
  }
  for (const json& name : source.at("pending")) {
    const auto found = pods.find(name.get<std::string>());
    if (found == pods.end()) throw std::runtime_error("pending: pod " + name.dump() + " is not listed");
    world.pending.push_back(found->second);
  }
}

}  // namespace

PreemptCase::PreemptCase(const std::string& line) {
  const json source = json::parse(line);
  json objects_only = source;
  for (const char* other : {"expect", "pods", "podGroups", "jobs", "podDisruptionBudgets", "promises"})
    objects_only.erase(other);
  Result<oracle::Case> read = oracle::read_case(objects_only.dump());
  if (!read) throw std::runtime_error(read.error().message());
  objects = std::move(read->world);
  id = objects.id;
  moves = source.at("kind") == "defrag";
  inventory::Features features = inventory::Features::all();
  features.stale_generations = false;
  inventory_ = std::make_unique<inventory::Inventory>(features);
  allocator_ = std::make_unique<allocator::Allocator>(*inventory_, allocator::Options{}, random_);
  world =
      std::make_unique<preempt::World>(preempt::World{*inventory_, *allocator_, cluster_, {}, {}, {}, {}, {}, {}, {}});
  const Reach reach(objects);
  for (const api::Node& node : objects.nodes) {
    cluster_.set_node(std::make_shared<api::Node>(node));
    inventory_->apply_node(std::make_shared<api::Node>(node));
  }
  for (const api::DeviceClass& device_class : objects.classes) inventory_->apply_class(device_class);
  for (const api::ResourceSlice& slice : objects.slices) inventory_->apply_slice(slice);
  for (const api::ResourceClaim& one : objects.claims) {
    auto claim = std::make_shared<api::ResourceClaim>(one);
    if (claim->status.allocation) reach.fill(*claim->status.allocation);
    inventory_->apply_claim(*claim);
    world->claims.push_back(std::move(claim));
  }
  read_pods(source, *world, cluster_);
  preempt::join_groups(*world, read_groups(source));
  std::vector<std::shared_ptr<const api::PodDisruptionBudget>> budgets;
  for (const json& one : list_of(source, "podDisruptionBudgets")) {
    auto budget =
        std::make_shared<api::PodDisruptionBudget>(decoded<api::PodDisruptionBudget>(one, "PodDisruptionBudget"));
    if (budget->metadata.ns.empty()) budget->metadata.ns = "default";
    budgets.push_back(std::move(budget));
  }
  preempt::add_budgets(*world, budgets);
  for (const json& promise : list_of(source, "promises")) world->promises.push_back(read_promise(promise, reach));
  if (source.contains("maxMoves")) world->max_moves = source["maxMoves"].get<uint32_t>();
  preempt::measure(*world, [&reach](const api::DeviceRequestAllocationResult& result) {
    const api::Device* device = reach.device(result);
    if (device == nullptr) return 0.0;
    const auto memory = device->capacity.find("memory");
    if (memory == device->capacity.end()) return 0.0;
    const std::optional<oracle::Amount> amount = oracle::parse_amount(memory->second.value);
    return amount ? static_cast<double>(*amount) / static_cast<double>(oracle::kOne) / (1024.0 * 1024.0 * 1024.0) : 0.0;
  });
  read_expectation(source, expect);
}

}  // namespace dra::conformance
