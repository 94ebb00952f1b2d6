#include "pkg/preempt/counted.h"

#include <algorithm>
#include <bit>
#include <set>
#include <unordered_map>

#include "pkg/preempt/device_counts.h"
#include "pkg/preempt/harm.h"

namespace dra::preempt {
namespace {

constexpr int64_t kPlenty = INT64_MAX / 4;

}  // namespace

Counted::Counted(World& world, const Stage& stage, Fit& fit, const Candidates& candidates, std::function<bool()> spent)
    : world_(world),
      stage_(stage),
      fit_(fit),
      candidates_(candidates),
      spent_(std::move(spent)),
      nodes_(world.devices.nodes()),
      of_node_(nodes_.size()),
      frees_(world.pods.size()) {}

// All pending pods are alike and share nothing, and what frees devices is on one node.
bool Counted::applies() {
  const Pod& first = world_.pods[world_.pending.front()];
  if (first.shape.empty()) return false;
  std::set<uint32_t> claims;
  for (const uint32_t number : world_.pending) {
    const Pod& pod = world_.pods[number];
    if (pod.shape != first.shape) return false;
    for (const uint32_t claim : pod.claims)
      if (world_.claims[claim]->status.allocation || !claims.insert(claim).second) return false;
  }
  const std::vector<bool> reaches_further = stage_.reaches_further();
  return std::none_of(candidates_.all().begin(), candidates_.all().end(),
                      [&](uint32_t pod) { return reaches_further[pod]; });
}

void Counted::read_nodes() {
  const placement::Charge& charge = fit_.charge_of(world_.pending.front());
  needs_ = {charge.cpu, charge.memory, 1};
  std::unordered_map<std::string, size_t> by_name;
  const std::vector<bool> refused = fit_.refused_for_good(world_.pending.front(), nodes_);
  for (size_t i = 0; i < nodes_.size(); ++i) {
    if (refused[i]) continue;  // hosts nobody
    const std::string name(world_.devices.node_name(nodes_[i]));
    by_name.emplace(name, i);
    const auto index = world_.cluster.find_node(name);
    if (!index) continue;
    const placement::NodeRow& row = world_.cluster.row(*index);
    of_node_[i].free = {row.cpu - row.used_cpu, row.memory - row.used_memory, row.max_pods - row.pods};
  }
  std::vector<bool> guarded(world_.pods.size(), false);
  for (const Budget& budget : world_.budgets)
    if (budget.allowed <= 0)
      for (const uint32_t pod : budget.pods) guarded[pod] = true;
  for (const uint32_t pod : candidates_.all()) {
    if (guarded[pod] || !candidates_.closed({pod})) continue;
    const auto node = by_name.find(world_.pods[pod].object->node_name);
    if (node == by_name.end()) continue;
    of_node_[node->second].pods.push_back(pod);
    const placement::PlacedPod* placed = world_.cluster.pod(world_.pods[pod].object->metadata.uid);
    int64_t devices = 0;
    for (const uint32_t claim : stage_.held_by(pod))
      devices += static_cast<int64_t>(world_.claims[claim]->status.allocation->results.size());
    frees_[pod].fill(devices);
    frees_[pod][0] = placed == nullptr ? 0 : placed->charge.cpu;
    frees_[pod][1] = placed == nullptr ? 0 : placed->charge.memory;
    frees_[pod][2] = 1;
  }
}

void Counted::read_devices() {
  const DeviceCounts counts(world_, fit_.claims_to_allocate(world_.pending.front()), nodes_);
  for (const DeviceCounts::Wanted& wanted : counts.wanted()) {
    if (dimensions_ == kMaxDimensions) return;
    needs_[dimensions_] = wanted.devices;
    for (size_t i = 0; i < nodes_.size(); ++i) of_node_[i].free[dimensions_] = wanted.free[i].value_or(kPlenty);
    ++dimensions_;
  }
}

int64_t Counted::members_with(const Amounts& free) const {
  int64_t members = static_cast<int64_t>(fit_.needed());
  for (size_t i = 0; i < dimensions_; ++i)
    if (needs_[i] > 0) members = std::min(members, std::max<int64_t>(0, free[i]) / needs_[i]);
  return members;
}

// Of all nodes, if all who may go up to this priority went.
int64_t Counted::capacity(int64_t priority) const {
  int64_t members = 0;
  for (const NodeOf& node : of_node_) {
    Amounts free = node.free;
    for (const uint32_t pod : node.pods)
      if (world_.pods[pod].object->priority <= priority)
        for (size_t i = 0; i < dimensions_; ++i) free[i] = std::min(kPlenty, free[i] + frees_[pod][i]);
    members += members_with(free);
  }
  return members;
}

std::vector<Counted::Way> Counted::ways_of(const NodeOf& node, const Limits& limits) {
  const auto needed = static_cast<size_t>(fit_.needed());
  std::vector<size_t> useful;  // indices of node.pods
  for (size_t i = 0; i < node.pods.size(); ++i) {
    const Pod& pod = world_.pods[node.pods[i]];
    const int64_t priority = pod.object->priority;
    if (priority < limits.priority || (priority == limits.priority && pod.start >= limits.start)) useful.push_back(i);
  }
  too_many_ = too_many_ || useful.size() > kMaxPodsOfNode || node.pods.size() > 32;
  if (too_many_) return {};
  const size_t sets = size_t{1} << useful.size();
  std::vector<Amounts> free(sets, node.free);
  std::vector<Way> best(needed + 1);
  std::vector<bool> known(needed + 1, false);
  std::vector<Way> all(sets);
  for (size_t set = 0; set < sets; ++set) {
    Way& way = all[set];
    if (set > 0) {
      const auto last = static_cast<size_t>(std::countr_zero(set));
      const size_t rest = set & (set - 1);
      const uint32_t pod = node.pods[useful[last]];
      for (size_t i = 0; i < dimensions_; ++i) free[set][i] = std::min(kPlenty, free[rest][i] + frees_[pod][i]);
      way.set = all[rest].set | (uint32_t{1} << useful[last]);
      way.cost = {all[rest].cost.sum + world_.pods[pod].object->priority + kPriorityOffset, all[rest].cost.number + 1};
    }
    way.members = static_cast<uint32_t>(members_with(free[set]));
    if (!known[way.members] || way.cost < best[way.members].cost) best[way.members] = way;
    known[way.members] = true;
  }
  std::vector<Way> ways;
  for (size_t members = needed + 1; members-- > 1;)
    if (known[members] && (ways.empty() || best[members].cost < ways.back().cost)) ways.push_back(best[members]);
  return ways;
}

// The least cost at which the nodes together host enough members; nothing: they do not.
std::optional<Counted::Cost> Counted::choose(const Limits& limits, std::vector<uint32_t>* chosen) {
  const size_t needed = fit_.needed();
  std::vector<std::optional<Cost>> best(needed + 1);
  best[0] = Cost{};
  struct Step {
    uint32_t from = 0, set = 0;
    bool taken = false;
  };
  std::vector<std::vector<Step>> steps(chosen == nullptr ? 0 : nodes_.size());
  for (size_t n = 0; n < nodes_.size(); ++n) {
    const std::vector<Way> ways = ways_of(of_node_[n], limits);
    if (too_many_) return std::nullopt;
    if (chosen != nullptr && !ways.empty()) steps[n].resize(needed + 1);
    for (size_t at = needed; at > 0; --at)
      for (const Way& way : ways) {
        const size_t from = at > way.members ? at - way.members : 0;
        if (!best[from]) continue;
        const Cost cost{best[from]->sum + way.cost.sum, best[from]->number + way.cost.number};
        if (best[at] && *best[at] <= cost) continue;
        best[at] = cost;
        if (chosen != nullptr) steps[n][at] = {static_cast<uint32_t>(from), way.set, true};
      }
  }
  if (!best[needed] || chosen == nullptr) return best[needed];
  size_t at = needed;
  for (size_t n = nodes_.size(); n-- > 0 && at > 0;) {
    if (steps[n].empty() || !steps[n][at].taken) continue;
    for (size_t i = 0; i < of_node_[n].pods.size(); ++i)
      if ((steps[n][at].set >> i) & 1) chosen->push_back(of_node_[n].pods[i]);
    at = steps[n][at].from;
  }
  std::sort(chosen->begin(), chosen->end());
  return best[needed];
}

Counted::Outcome Counted::least() {
  if (!applies()) return {};
  read_nodes();
  read_devices();
  const auto needed = static_cast<int64_t>(fit_.needed());
  std::set<int64_t> priorities;
  std::vector<int64_t> starts;
  for (const NodeOf& node : of_node_)
    for (const uint32_t pod : node.pods) priorities.insert(world_.pods[pod].object->priority);
  const auto lowest = std::find_if(priorities.begin(), priorities.end(),
                                   [&](int64_t priority) { return capacity(priority) >= needed; });
  // With those whom a budget guards it may still be possible.
  if (lowest == priorities.end()) return {};
  Limits limits{*lowest, INT64_MIN};
  const std::optional<Cost> cost = choose(limits, nullptr);
  if (!cost) return {};
  for (const NodeOf& node : of_node_)
    for (const uint32_t pod : node.pods)
      if (world_.pods[pod].object->priority == *lowest) starts.push_back(world_.pods[pod].start);
  std::sort(starts.begin(), starts.end());
  // The latest start at which the same can be had.
  size_t low = 0, high = starts.size();
  while (high - low > 1 && !spent_()) {
    const size_t middle = low + (high - low) / 2;
    const std::optional<Cost> later = choose({*lowest, starts[middle]}, nullptr);
    (later && *later == *cost ? low : high) = middle;
  }
  if (spent_() || too_many_) return {};
  limits.start = starts[low];
  Outcome outcome{Finding::kSet, {}};
  if (!choose(limits, &outcome.pods)) return {};
  return outcome;
}

}  // namespace dra::preempt
