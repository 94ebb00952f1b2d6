#include "pkg/preempt/promises.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "pkg/api/selectors.h"
#include "pkg/preempt/candidates.h"

namespace dra::preempt {
namespace {

using Names = std::unordered_map<std::string, uint32_t>;

// Everything of a promise that depends on no other promise.
class Proposal {
 public:
  Proposal(const World& world, const Promise& promise, const Names& pods)
      : world_(world), promise_(promise), pods_(pods) {}

  Judged judge() {
    find_owner();
    find_victims();
    judged_.stands = !judged_.waiting.empty() && is_whole() && victims_may_go();
    return judged_;
  }

 private:
  void find_owner() {
    for (const auto& [name, node] : promise_.placements) {
      if (promise_.moves && std::find(promise_.victims.begin(), promise_.victims.end(), name) != promise_.victims.end())
        continue;
      const auto pod = pods_.find(name);
      if (pod == pods_.end()) continue;
      owners_.push_back(pod->second);
      const api::Pod& object = *world_.pods[pod->second].object;
      if (object.node_name.empty() && !object.terminal() && !object.metadata.deleting())
        judged_.waiting.push_back(pod->second);
    }
    judged_.priority = owners_.empty() ? INT64_MIN : priority_of(world_, owners_);
  }

  void find_victims() {
    for (const std::string& name : promise_.victims) {
      const auto pod = pods_.find(name);
      if (pod != pods_.end() && world_.pods[pod->second].runs()) {
        judged_.victims.push_back(pod->second);
        continue;
      }
      judged_.begun = true;
      if (pod == pods_.end() || world_.pods[pod->second].group == kNobody) continue;
      gone_groups_.push_back(world_.pods[pod->second].group);
    }
    judged_.begun = judged_.begun || judged_.victims.empty();
    std::sort(judged_.victims.begin(), judged_.victims.end());
    judged_.rest_of_group = std::any_of(judged_.victims.begin(), judged_.victims.end(), [this](uint32_t pod) {
      const uint32_t group = world_.pods[pod].group;
      return group != kNobody && std::find(gone_groups_.begin(), gone_groups_.end(), group) != gone_groups_.end() &&
             must_go_whole(group);
    });
  }

  // The members that still run are fewer than its minimum, or it never leaves in part.
  bool must_go_whole(uint32_t group) const {
    const auto running = std::count_if(world_.pods.begin(), world_.pods.end(),
                                       [group](const Pod& pod) { return pod.group == group && pod.runs(); });
    return world_.groups[group].whole || running < static_cast<std::ptrdiff_t>(world_.groups[group].min_count);
  }

  // A place for as many members as must be placed together, and an allocation for each of their claims.
  bool is_whole() const {
    const uint32_t group = world_.pods[judged_.waiting.front()].group;
    std::vector<uint32_t> all = judged_.waiting;
    if (group != kNobody) {
      all.clear();
      for (uint32_t pod = 0; pod < world_.pods.size(); ++pod)
        if (world_.pods[pod].group == group && world_.pods[pod].object->node_name.empty() &&
            !world_.pods[pod].object->terminal())
          all.push_back(pod);
    }
    if (judged_.waiting.size() < needed_together(world_, all)) return false;
    return std::all_of(judged_.waiting.begin(), judged_.waiting.end(), [this](uint32_t pod) {
      const auto& wanted = world_.pods[pod].claims;
      return std::all_of(wanted.begin(), wanted.end(), [this](uint32_t claim) { return has_allocation(claim); });
    });
  }

  bool has_allocation(uint32_t number) const {
    const api::ResourceClaim& claim = *world_.claims[number];
    if (claim.status.allocation) return true;
    const auto promised = promise_.allocations.find(claim.metadata.key());
    if (promised == promise_.allocations.end()) return false;
    size_t wanted = 0;
    bool counted = true;
    for (const api::DeviceRequest& request : claim.spec.requests) {
      counted = counted && request.exactly && request.exactly->allocation_mode != "All";
      if (counted) wanted += static_cast<size_t>(std::max<int64_t>(1, request.exactly->count));
    }
    return counted ? promised->second.results.size() >= wanted : !promised->second.results.empty();
  }

  bool victims_may_go() const {
    if (promise_.moves)
      return std::all_of(judged_.victims.begin(), judged_.victims.end(),
                         [this](uint32_t pod) { return has_place(pod); }) &&
             Candidates(world_, Kind::kMoves, judged_.priority, true).allowed(judged_.victims);
    const bool anybody = std::all_of(judged_.waiting.begin(), judged_.waiting.end(),
                                     [this](uint32_t pod) { return world_.pods[pod].preempts; });
    return Candidates(world_, Kind::kVictims, judged_.priority, anybody).allowed(judged_.victims);
  }

  // A pod that moves: it can be asked about, and the promise says where it goes.
  bool has_place(uint32_t pod) const {
    const api::Pod& object = *world_.pods[pod].object;
    return promise_.placements.contains(object.metadata.key()) && placement::PodNeeds::of(object).has_value();
  }

  const World& world_;
  const Promise& promise_;
  const Names& pods_;
  std::vector<uint32_t> owners_;
  std::vector<uint32_t> gone_groups_;  // of victims that do not run any more
  Judged judged_;
};

// Places the pods of a promise in the cluster while it lives.
class Places {
 public:
  explicit Places(World& world) : world_(world) {}
  ~Places() {
    for (const std::string& uid : placed_) world_.cluster.remove_pod(uid);
  }
  Places(const Places&) = delete;
  Places& operator=(const Places&) = delete;
  void place(const api::Pod& pod, const std::string& node) {
    api::Pod copy = pod;
    copy.metadata.uid = "place/" + pod.metadata.uid;
    copy.node_name.clear();
    world_.cluster.set_pod(copy, node, true);
    placed_.push_back(copy.metadata.uid);
  }

 private:
  World& world_;
  std::vector<std::string> placed_;
};

bool can_be_used_on(const World& world, const api::AllocationResult& allocation, const std::string& node) {
  for (const api::DeviceRequestAllocationResult& result : allocation.results)
    if (!world.devices.device_on({result.driver, result.pool, result.device}, node)) return false;
  if (!allocation.node_selector) return true;
  const auto index = world.cluster.find_node(node);
  return index && api::matches(*allocation.node_selector, node, world.cluster.rest(*index).node->metadata.labels);
}

// The nodes exist and take the pods, and nobody else has what they were promised. The scene is arranged without it.
bool places_are_possible(World& world, Fit& fit, const Judged& judged, const Promise& promise) {
  Places places(world);
  std::vector<uint32_t> pods = judged.waiting;
  if (promise.moves) pods.insert(pods.end(), judged.victims.begin(), judged.victims.end());
  for (const uint32_t pod : pods) {
    const std::string& node = promise.placements.at(world.pods[pod].object->metadata.key());
    if (!fit.takes(pod, node)) return false;
    places.place(*world.pods[pod].object, node);
    for (const uint32_t claim : world.pods[pod].claims) {
      const auto promised = promise.allocations.find(world.claims[claim]->metadata.key());
      // What a pod that moves has now is not what it gets.
      const bool anew = promise.moves && promised != promise.allocations.end();
      const api::AllocationResult* allocation = world.claims[claim]->status.allocation && !anew
                                                    ? &*world.claims[claim]->status.allocation
                                                : promised != promise.allocations.end() ? &promised->second
                                                                                        : nullptr;
      if (allocation != nullptr && !can_be_used_on(world, *allocation, node)) return false;
    }
  }
  return true;
}

bool devices_are_free(World& world, uint32_t number) {
  std::vector<std::string> uids;
  for (const auto& [claim, allocation] : world.promises[number].allocations)
    if (world.devices.assumed(Stage::uid_of_promise(number, claim)))
      uids.push_back(Stage::uid_of_promise(number, claim));
  return world.devices.over_commitments(uids, inventory::Layer::kAll).empty();
}

}  // namespace

std::vector<Judged> judge_promises(World& world, Stage& stage, Fit& fit) {
  if (world.promises.empty()) return {};
  Names pods;
  for (uint32_t i = 0; i < world.pods.size(); ++i) pods.emplace(world.pods[i].object->metadata.key(), i);
  std::vector<Judged> all;
  for (const Promise& promise : world.promises) all.push_back(Proposal(world, promise, pods).judge());
  std::vector<uint32_t> order(all.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](uint32_t a, uint32_t b) { return all[a].priority > all[b].priority; });
  Scene scene;
  scene.left = true;
  for (const uint32_t number : order) {
    Judged& judged = all[number];
    if (!judged.stands) continue;
    Scene beside = scene;
    beside.gone.insert(beside.gone.end(), judged.victims.begin(), judged.victims.end());
    std::sort(beside.gone.begin(), beside.gone.end());
    beside.gone.erase(std::unique(beside.gone.begin(), beside.gone.end()), beside.gone.end());
    stage.arrange(beside);
    judged.stands = places_are_possible(world, fit, judged, world.promises[number]);
    if (!judged.stands) continue;
    beside.promises.push_back(number);
    std::sort(beside.promises.begin(), beside.promises.end());
    stage.arrange(beside);
    judged.stands = devices_are_free(world, number);
    if (judged.stands) scene = std::move(beside);
  }
  stage.arrange({});
  return all;
}

}  // namespace dra::preempt
