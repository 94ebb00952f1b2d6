// BestFit: claims of any form. Takes the first solution of every node, then compares others while steps last.
#include <algorithm>
#include <bit>
#include <numeric>
#include <set>

#include "pkg/allocator/nodes/best_fit.h"
#include "pkg/base/strings.h"

namespace dra::allocator {

using strategy::kMillion;
FoundNodes BestFit::search_all() {
  if (plan_->requests.empty()) return node_search_.find(*plan_, *request_, order_, order_.size());
  KeptPlaces::Of& kept = places_.of(plan_->shape, request_->cpu_milli);
  Place best;
  std::vector<NodeId> open;  // of which nothing valid is known
  open.reserve(order_.size());
  for (size_t i = 0; i < order_.size(); ++i) {
    const NodeId node = order_[i];
    const KeptPlaces::Place* known =
        device_index_.knows(node) ? KeptPlaces::find(kept, node, marks_.changed(node), facts_at(i)) : nullptr;
    if (known == nullptr) {
      open.push_back(node);
      continue;
    }
    ++compared_;
    if (best.node == inventory::kNone || better(known->cost, node, best))
      best = {known->cost, node, known->picks, known->chosen};
  }
  FoundNodes found = search_open(kept, open, compared_, best);
  if (found.outcome == Outcome::kError || best.node == inventory::kNone) return found;
  FoundNodes concluded = conclude(best, std::move(found));
  if (concluded.decisions.empty() || concluded.decisions[0].node != best.node) places_.forget(kept, best.node);
  return concluded;
}

// The first solution of every node of `open` that fits; then others, as long as steps last. Replaces `best` by a better
// one. `others`: nodes that fit beside these.
FoundNodes BestFit::search_open(KeptPlaces::Of& kept, std::span<const NodeId> open, size_t others, Place& best) {
  FoundNodes found = node_search_.find(*plan_, *request_, open, open.size());
  if (found.outcome != Outcome::kFeasible) return found;
  std::vector<size_t> position(device_index_.node_slots(), order_.size());
  for (size_t i = order_.size(); i-- > 0;)
    if (order_[i] < position.size()) position[order_[i]] = i;
  const uint64_t most = plan_->pair_rules.empty() ? kMaxImproveSteps : kMaxImprovePairs;
  // A power of two, so that what is kept hardly depends on how many nodes were known then.
  const uint64_t share = std::max(most / std::bit_ceil(found.decisions.size() + others), kLeastImproveSteps);
  for (const Decision& decision : found.decisions) {
    Place here;
    improve(decision.node, position[decision.node], share, here);
    ++compared_;
    const bool whole = !meter_.stopped();
    if (here.node == inventory::kNone) {
      if (!whole && best.node != inventory::kNone) break;
      continue;
    }
    if (whole)
      places_.keep(kept, here.node, {marks_.now(), facts_at(position[here.node]), here.cost, here.picks, here.chosen});
    if (best.node == inventory::kNone || better(here.cost, here.node, best)) best = std::move(here);
    if (!whole) break;
  }
  if (best.node == inventory::kNone) found.decisions.resize(1);
  return found;
}

// Replaces `best` if the node has a better solution.
void BestFit::improve(NodeId node, size_t position, uint64_t steps, Place& best) {
  Search::Terms terms;
  terms.budget = steps;
  terms.visit = [&](const Search& search) {
    const strategy::Cost cost = cost_of(search, node, position);
    const bool first = best.node == inventory::kNone;
    if (first || better(cost, node, best) || (node == best.node && cost == best.cost && names_before(search, best))) {
      best.cost = cost;
      best.node = node;
      best.picks = search.picks();
      for (Pick& pick : best.picks) pick.fit = nullptr;  // of a filter that may be dropped before
      best.chosen = search.chosen();
    }
    return false;
  };
  search_.run(*plan_, node, terms);
}

// Whether this solution's devices precede those of the best one by name, request by request.
bool BestFit::names_before(const Search& search, const Place& best) const {
  const std::vector<Pick>& picks = search.picks();
  const auto rank = [&](const Pick& pick) {
    const MatrixSegment& segment = search.matrix().segment_of(pick.local);
    const auto at = static_cast<size_t>(&segment - search.matrix().segments().data());
    const uint32_t device = search.matrix().device_of(segment, pick.local);
    return std::tuple(pick.request, at, device_index_.strings().text(segment.pool->device_name(device)));
  };
  std::vector<std::tuple<uint32_t, size_t, std::string>> ours, theirs;
  for (const Pick& pick : picks) ours.emplace_back(rank(pick));
  for (const Pick& pick : best.picks) theirs.emplace_back(rank(pick));
  std::sort(ours.begin(), ours.end());
  std::sort(theirs.begin(), theirs.end());
  return ours < theirs;
}

strategy::Cost BestFit::cost_of(const Search& search, NodeId node, size_t position) {
  struct OfDevice {
    uint32_t local;
    int64_t need = 0;
  };
  struct OfGroup {
    const inventory::Pool* pool;
    uint32_t group;
    std::vector<uint32_t> taken;
  };
  Taken taken;
  int64_t lost = 0, broken = 0, size = 0, rank = 0;
  uint32_t uncertain = 0;
  std::vector<OfDevice> shared;
  std::vector<OfGroup> groups;
  for (const Pick& pick : search.picks()) {
    const PlanAlternative& alternative = plan_->requests[pick.request].alternatives[pick.alternative];
    if (alternative.admin) continue;  // takes no capacity
    const MatrixSegment& segment = search.matrix().segment_of(pick.local);
    const inventory::Pool& pool = *segment.pool;
    const auto place = static_cast<size_t>(&segment - search.matrix().segments().data());
    uncertain += device_index_.view(node).segments[place].conditional;
    const uint32_t number = search.matrix().device_of(segment, pick.local);
    const PoolValue& value = values_.of(pool.id);
    const DeviceValue& device = value.devices[number];
    last_shape_ = nullptr;
    int64_t units = device.units_ppm;
    size += device.size;
    if (device.shareable) units = need_ppm(alternative, pool.shape(number));
    taken.units_ppm += units;
    taken.cpu_milli += units * mix_.kind(value.kind).cpu_milli_per_device / kMillion;
    if (device.group != inventory::kNone) {
      auto of = std::find_if(groups.begin(), groups.end(),
                             [&](const OfGroup& one) { return one.pool == &pool && one.group == device.group; });
      if (of == groups.end()) of = groups.insert(groups.end(), {&pool, device.group, {}});
      if (std::find(of->taken.begin(), of->taken.end(), number) == of->taken.end()) of->taken.push_back(number);
    }
    if (device.shareable) {
      auto of =
          std::find_if(shared.begin(), shared.end(), [&](const OfDevice& one) { return one.local == pick.local; });
      if (of == shared.end()) {
        of = shared.insert(shared.end(), {pick.local, 0});
        if (device.group == inventory::kNone) broken += device.whole;
      }
      lost += rest_value(value, device.free_ppm - of->need) - rest_value(value, device.free_ppm - of->need - units);
      lost += crowd(alternative, pool, number);
      of->need += units;
    } else if (device.group == inventory::kNone) {
      lost += strategy::kWholeDevice;
      broken += device.whole;
    }
  }
  for (const OfGroup& one : groups) {
    const GroupValue& group = values_.of(one.pool->id).groups[one.group];
    lost += PoolValues::lost_by(*one.pool, group, one.taken);
    broken += group.whole;
  }
  for (size_t r = 0; r < plan_->requests.size(); ++r)
    if (plan_->requests[r].prioritized) rank += search.chosen()[r];
  NodePrice price;
  price.uncertain = uncertain;
  price.lost = lost;
  price.broken = static_cast<uint32_t>(broken);
  price.size = size;
  price.taken = taken;
  strategy::Cost cost = node_cost(position, node, price);
  cost.rank = rank;
  return cost;
}

// Makes the result for the chosen place.
FoundNodes BestFit::conclude(const Place& best, FoundNodes found) {
  Search::Terms terms;
  terms.budget = UINT64_MAX / 2;
  terms.fixed = &best.picks;
  terms.fixed_alternatives = &best.chosen;
  Decision decision;
  decision.node = best.node;
  node_search_.decide(*plan_, best.node, terms, decision);
  found.steps += decision.steps + 1;
  found.nodes_searched = std::max(found.nodes_searched, compared_);
  if (decision.outcome == Outcome::kFeasible) {
    decision.reason = reason(best, decision);
    found.decisions.assign(1, std::move(decision));
    found.outcome = Outcome::kFeasible;
    return found;
  }
  // The values contradict the search: a bug, but the pod is served anyway.
  return node_search_.find(*plan_, *request_, order_, 1);
}

// Cards: devices without counters, and what partitions are cut from. Those of drivers that the pod does not use say
// nothing about it.
std::string BestFit::reason(const Place& place, const Decision& decision) {
  const std::string node = device_index_.node_name(place.node);
  std::set<std::string> drivers;
  std::string shared;
  for (const api::AllocationResult& claim : decision.results)
    for (const api::DeviceRequestAllocationResult& one : claim.results) {
      drivers.insert(one.driver);
      if (!one.consumed_capacity.empty()) shared = one.device;
    }
  if (place.cost.broken == 0)
    return shared.empty() ? "cuts or takes no whole card of " + node : "shares " + shared + " already on " + node;
  int64_t cards = 0, left = -place.cost.broken;
  for (const inventory::Segment& segment : device_index_.view(place.node).segments) {
    const PoolValue& value = values_.of(segment.pool);
    if (!value.local || !drivers.contains(device_index_.pool(segment.pool)->driver_text)) continue;
    left += value.whole;
    cards += static_cast<int64_t>(value.groups.size()) +
             std::count_if(value.devices.begin(), value.devices.end(),
                           [](const DeviceValue& device) { return device.group == inventory::kNone; });
  }
  if (left > 0)
    return "keeps " + std::to_string(left) + " of " + std::to_string(cards) + " cards of " +
           join({drivers.begin(), drivers.end()}, " and ") + " whole on " + node;
  return "fits " + node + " most tightly of " + std::to_string(compared_) + " nodes";
}

}  // namespace dra::allocator
