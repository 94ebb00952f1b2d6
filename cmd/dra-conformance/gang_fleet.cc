#include "cmd/dra-conformance/gang_fleet.h"

#include <stdexcept>

#include "pkg/placement/decide.h"

namespace dra::conformance {
namespace {

constexpr const char* kFleetDriver = "gpu.example.com";

allocator::Options fleet_options(allocator::Strategy strategy) {
  allocator::Options options;
  options.strategy = strategy;
  return options;
}

std::shared_ptr<const api::Pod> fleet_pod(const FleetMembers& members, const std::string& name) {
  auto pod = std::make_shared<api::Pod>();
  pod->metadata.name = pod->metadata.uid = name;
  pod->metadata.ns = "default";
  pod->containers.emplace_back().requests = {{"cpu", std::to_string(members.cpu_milli) + "m"},
                                             {"memory", std::to_string(members.memory_mib) + "Mi"}};
  return pod;
}

std::shared_ptr<const api::ResourceClaim> fleet_claim(const FleetMembers& members, const std::string& name) {
  auto claim = std::make_shared<api::ResourceClaim>();
  claim->metadata.name = claim->metadata.uid = name;
  claim->metadata.ns = "default";
  api::DeviceSubRequest exactly;
  exactly.device_class_name = "gpu";
  exactly.allocation_mode = "ExactCount";
  exactly.count = members.gpus;
  std::string list;
  for (const std::string& model : members.models) list += (list.empty() ? "\"" : ", \"") + model + "\"";
  if (!list.empty())
    exactly.selectors.push_back("device.attributes[\"" + std::string(kFleetDriver) + "\"].model in [" + list + "]");
  claim->spec.requests.push_back({"gpu", exactly, {}});
  return claim;
}

}  // namespace

// The nodes as placement sees them. The pods of the lists have no affinity to each other.
class GangFleet::PlacementNodes : public gang::Nodes {
 public:
  PlacementNodes(GangFleet& fleet, const Waiting& group) : fleet_(fleet) {
    for (const auto& pod : group.pods) {
      Result<placement::PodNeeds> needs = placement::PodNeeds::of(*pod);
      if (!needs) throw std::runtime_error(needs.error().message());
      needs_.push_back(std::move(*needs));
    }
  }

  Influence influence() const override { return Influence::kNode; }
  uint64_t version() const override { return fleet_.changes_; }
  std::vector<gang::Candidate> candidates(size_t member) override { return ask(member, nullptr); }
  std::optional<gang::NodeFacts> look(size_t member, gang::NodeId node) override {
    const std::vector<placement::NodeIndex> only{index_of(node)};
    const std::vector<gang::Candidate> found = ask(member, &only);
    if (found.empty()) return std::nullopt;
    return found.front().facts;
  }
  std::optional<gang::Resources> takes(size_t member) override {
    return gang::Resources{needs_[member].charge().cpu, needs_[member].charge().memory, 1};
  }
  std::vector<gang::Resources> left(const std::vector<gang::NodeId>& nodes) override {
    std::vector<gang::Resources> all;
    for (const gang::NodeId node : nodes) {
      const placement::NodeRow& row = fleet_.cluster_.row(index_of(node));
      all.push_back({row.cpu - row.used_cpu, row.memory - row.used_memory, row.max_pods - row.pods});
    }
    return all;
  }
  void place(size_t member, gang::NodeId node) override {
    fleet_.cluster_.set_pod(needs_[member].pod(), fleet_.node_name(node), true);
  }
  void take_back(size_t member) override { fleet_.cluster_.remove_pod(needs_[member].pod().metadata.uid); }
  const std::string* label(gang::NodeId node, const std::string& key) const override {
    const api::StringMap& labels = fleet_.cluster_.rest(index_of(node)).node->metadata.labels;
    const auto found = labels.find(key);
    return found == labels.end() ? nullptr : &found->second;
  }

 private:
  placement::NodeIndex index_of(gang::NodeId node) const { return *fleet_.cluster_.find_node(fleet_.node_name(node)); }

  std::vector<gang::Candidate> ask(size_t member, const std::vector<placement::NodeIndex>* only) {
    placement::DecisionOptions options;
    options.volumes = placement::Volumes::kIgnored;
    options.preferences_only = true;  // first-fit means the first node by name
    options.only = only;
    std::vector<gang::Candidate> out;
    const placement::Decision decision = placement::decide(fleet_.cluster_, needs_[member], options);
    for (const placement::RankedNode& node : decision.nodes) {
      const placement::NodeRow& row = fleet_.cluster_.row(node.node);
      out.push_back({fleet_.ids_[node.node], {row.cpu - row.used_cpu, node.preferred}});
    }
    return out;
  }

  GangFleet& fleet_;
  std::vector<placement::PodNeeds> needs_;
};

GangFleet::GangFleet(allocator::Strategy strategy)
    : allocator_(inventory_, fleet_options(strategy), random_), gangs_(inventory_, allocator_, {}) {
  api::DeviceClass gpus;
  gpus.metadata.name = "gpu";
  gpus.selectors.push_back("device.driver == \"" + std::string(kFleetDriver) + "\"");
  inventory_.apply_class(gpus);
}

void GangFleet::add_node(const FleetNode& node) {
  auto object = std::make_shared<api::Node>();
  object->metadata.name = node.name;
  object->metadata.labels = node.labels;
  object->allocatable = {{"cpu", std::to_string(node.cpu_milli) + "m"},
                         {"memory", std::to_string(node.memory_mib) + "Mi"},
                         {"pods", "100000"}};  // the lists have no limit of pods
  cluster_.set_node(object);
  const inventory::NodeId id = inventory_.apply_node(node.name, node.labels);
  const placement::NodeIndex index = *cluster_.find_node(node.name);
  if (ids_.size() <= index) ids_.resize(index + 1);
  ids_[index] = id;
  api::ResourceSlice slice;
  slice.metadata.name = node.name + "-gpus";
  slice.driver = kFleetDriver;
  slice.node_name = node.name;
  slice.pool = {node.name, 1, 1};
  for (int i = 0; i < node.gpus; ++i) {
    api::Device& gpu = slice.devices.emplace_back();
    gpu.name = "gpu-" + std::to_string(i);
    gpu.attributes["model"] = node.model;
  }
  inventory_.apply_slice(slice);
  ++changes_;
}

GangFleet::Waiting& GangFleet::waiting_of(const FleetGroup& group) {
  const auto [at, added] = groups_.try_emplace(group.name);
  Waiting& made = at->second;
  if (!added) return made;
  made.request.uid = made.request.name = group.name;
  made.request.min_count = group.min_count;
  made.request.topology = group.topology;
  for (const FleetMembers& members : group.members)
    for (int i = 0; i < members.count; ++i) {
      const std::string name = group.name + "-" + members.name + "-" + std::to_string(i);
      made.pods.push_back(fleet_pod(members, name));
      gang::Member& member = made.request.members.emplace_back();
      member.name = member.uid = name;
      member.shape = members.name;
      member.cpu_milli = members.cpu_milli;
      if (members.gpus > 0) member.claims.push_back(fleet_claim(members, name));
    }
  return made;
}

gang::Decision GangFleet::place(const FleetGroup& group) {
  Waiting& waiting = waiting_of(group);
  PlacementNodes nodes(*this, waiting);
  gang::Decision decision;
  do decision = gangs_.decide(waiting.request, nodes);
  while (decision.outcome == allocator::Outcome::kUnfinished);
  if (decision.outcome != allocator::Outcome::kFeasible) return decision;
  ++changes_;
  for (const gang::Placed& placed : decision.members) nodes.place(placed.member, placed.node);
  for (const gang::ClaimResult& one : decision.claims) {
    inventory_.assume(one.claim->metadata.uid, one.result);
    waiting.claims.push_back(one.claim->metadata.uid);
  }
  return decision;
}

void GangFleet::remove(const std::string& group) {
  const auto at = groups_.find(group);
  if (at == groups_.end()) return;
  for (const std::string& claim : at->second.claims) inventory_.forget(claim);
  for (const auto& pod : at->second.pods) cluster_.remove_pod(pod->metadata.uid);
  gangs_.forget(group);
  groups_.erase(at);
  ++changes_;
}

const std::string& GangFleet::pod_name(const std::string& group, size_t member) const {
  return groups_.at(group).request.members.at(member).name;
}

}  // namespace dra::conformance
