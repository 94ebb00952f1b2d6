#include "pkg/preempt/both.h"

#include <algorithm>

#include "pkg/api/selectors.h"

namespace dra::preempt {
namespace {

// All placements that are valid in one scene, each tried in the other one. Only for scenes that overlap: a device that
// is promised while its holder terminates. Bounded by kMaxPlacements; beyond it the answer is unknown.
class EachPlacement {
 public:
  static constexpr size_t kMaxPlacements = 4096;

  EachPlacement(World& world, Stage& stage, Fit& fit) : world_(world), stage_(stage), fit_(fit) {}

  Fits find(const Scene& now, const Scene& later, Found& found) {
    stage_.arrange(now);
    place_from(0, 0);
    for (Found& one : all_) {
      stage_.arrange(later);
      if (!is_valid(one)) continue;
      found = std::move(one);
      return Fits::kYes;
    }
    return cut_ ? Fits::kUnknown : Fits::kNo;
  }

 private:
  void place_from(size_t at, size_t placed) {
    if (placed == fit_.needed()) {
      cut_ = cut_ || all_.size() >= kMaxPlacements;
      if (!cut_) all_.push_back(current_);
      return;
    }
    if (cut_ || placed + world_.pending.size() - at < fit_.needed()) return;
    const uint32_t pod = world_.pending[at];
    const std::string key = world_.pods[pod].object->metadata.key();
    for (const inventory::NodeId node : world_.devices.nodes()) {
      const std::string name = world_.devices.node_name(node);
      if (!fit_.takes(pod, name) || !usable_on(pod, name)) continue;
      fit_.put(pod, name);
      current_.placements[key] = name;
      each_allocation(pod, node, at, placed);
      current_.placements.erase(key);
      fit_.take_back(pod);
    }
    place_from(at + 1, placed);
  }

  bool usable_on(uint32_t pod, const std::string& node) const {
    const auto index = world_.cluster.find_node(node);
    return std::all_of(world_.pods[pod].claims.begin(), world_.pods[pod].claims.end(), [&](uint32_t claim) {
      const api::AllocationResult* fixed = allocation_of(claim);
      return fixed == nullptr || !fixed->node_selector ||
             (index && api::matches(*fixed->node_selector, node, world_.cluster.rest(*index).node->metadata.labels));
    });
  }

  const api::AllocationResult* allocation_of(uint32_t claim) const {
    if (world_.claims[claim]->status.allocation) return &*world_.claims[claim]->status.allocation;
    const auto decided = current_.allocations.find(world_.claims[claim]->metadata.key());
    return decided == current_.allocations.end() ? nullptr : &decided->second;
  }

  void each_allocation(uint32_t pod, inventory::NodeId node, size_t at, size_t placed) {
    allocator::Request request;
    for (const uint32_t claim : world_.pods[pod].claims)
      if (allocation_of(claim) == nullptr) request.claims.push_back(world_.claims[claim]);
    if (request.claims.empty()) return place_from(at + 1, placed + 1);
    const allocator::Solutions solutions = world_.allocator.solutions(request, node, 0, kMaxPlacements);
    cut_ =
        cut_ || solutions.outcome == allocator::Outcome::kBudgetSpent || solutions.decisions.size() >= kMaxPlacements;
    for (const allocator::Decision& decision : solutions.decisions) {
      for (size_t i = 0; i < request.claims.size(); ++i) {
        world_.devices.assume(request.claims[i]->metadata.uid, decision.results[i], request.claims[i].get());
        current_.allocations[request.claims[i]->metadata.key()] = decision.results[i];
      }
      place_from(at + 1, placed + 1);
      for (const auto& claim : request.claims) {
        world_.devices.forget(claim->metadata.uid);
        current_.allocations.erase(claim->metadata.key());
      }
    }
  }

  // As arranged: the nodes take the pods, and nothing is allocated twice.
  bool is_valid(const Found& one) {
    std::vector<uint32_t> placed;
    bool valid = true;
    for (const uint32_t pod : world_.pending) {
      const auto place = one.placements.find(world_.pods[pod].object->metadata.key());
      if (place == one.placements.end()) continue;
      valid = valid && fit_.takes(pod, place->second);
      if (!valid) break;
      fit_.put(pod, place->second);
      placed.push_back(pod);
    }
    for (const uint32_t pod : placed) fit_.take_back(pod);
    if (!valid) return false;
    std::vector<std::string> uids;
    for (const auto& claim : world_.claims) {
      const auto given = one.allocations.find(claim->metadata.key());
      if (given == one.allocations.end()) continue;
      world_.devices.assume(claim->metadata.uid, given->second, claim.get());
      uids.push_back(claim->metadata.uid);
    }
    valid = world_.devices.over_commitments(uids, inventory::Layer::kAll).empty();
    for (const std::string& uid : uids) world_.devices.forget(uid);
    return valid;
  }

  World& world_;
  Stage& stage_;
  Fit& fit_;
  Found current_;
  std::vector<Found> all_;
  bool cut_ = false;
};

}  // namespace

Fits fits_in_both(World& world, Stage& stage, Fit& fit, const Scene& now, const Scene& later, Found& found) {
  const bool nobody_leaves = stage.terminating().empty() && !stage.releases();
  stage.arrange(later);
  Fits answer = fit.fits({}, &found);
  if (nobody_leaves || answer != Fits::kYes) return answer;
  found = {};
  stage.arrange(now);
  answer = fit.fits({}, &found);
  if (later.promises.empty() || answer != Fits::kYes) return answer;
  Scene either = now;
  either.promises = later.promises;
  found = {};
  stage.arrange(either);
  if (fit.fits({}, &found) == Fits::kYes) return Fits::kYes;
  found = {};
  return EachPlacement(world, stage, fit).find(now, later, found);
}

}  // namespace dra::preempt
