#include "pkg/preempt/bounds.h"

#include <algorithm>

#include "pkg/preempt/device_counts.h"

namespace dra::preempt {

Bounds::Bounds(World& world, const Stage& stage, Fit& fit, uint32_t pod, std::span<const inventory::NodeId> nodes)
    : world_(world), stage_(stage), missing_(nodes.size(), {0, 0, 0, 0}) {
  guarded_.resize(world.pods.size(), false);
  for (const Budget& budget : world.budgets)
    if (budget.allowed <= 0)
      for (const uint32_t guarded : budget.pods) guarded_[guarded] = true;
  const placement::Charge& needs = fit.charge_of(pod);
  const std::vector<bool> refused = fit.refused_for_good(pod, nodes);
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (refused[i]) {
      missing_[i][kPods] = INT64_MAX;
      continue;
    }
    const auto index = world.cluster.find_node(world.devices.node_name(nodes[i]));
    if (!index) continue;
    const placement::NodeRow& row = world.cluster.row(*index);
    if (needs.cpu > 0) missing_[i][kCpu] = needs.cpu - (row.cpu - row.used_cpu);
    if (needs.memory > 0) missing_[i][kMemory] = needs.memory - (row.memory - row.used_memory);
    missing_[i][kPods] = 1 - (row.max_pods - row.pods);
  }
  // Read now: pods that leave in a later scene are not in the cluster then.
  if (std::any_of(missing_.begin(), missing_.end(), [](const auto& of) { return of[kCpu] > 0 || of[kMemory] > 0; })) {
    charges_.resize(world.pods.size());
    for (uint32_t number = 0; number < world.pods.size(); ++number)
      if (const auto* placed = world.cluster.pod(world.pods[number].object->metadata.uid))
        charges_[number] = {placed->charge.cpu, placed->charge.memory};
  }
  const DeviceCounts counts(world, fit.claims_to_allocate(pod), nodes);
  for (const DeviceCounts::Wanted& wanted : counts.wanted())
    for (size_t i = 0; i < nodes.size(); ++i)
      if (wanted.free[i]) missing_[i][kDevices] = std::max(missing_[i][kDevices], wanted.devices - *wanted.free[i]);
}

int64_t Bounds::frees(uint32_t pod, Dimension dimension) const {
  if (dimension == kPods) return 1;
  if (dimension == kDevices) {
    int64_t devices = 0;
    for (const uint32_t claim : stage_.held_by(pod))
      devices += static_cast<int64_t>(world_.claims[claim]->status.allocation->results.size());
    return devices;
  }
  return dimension == kCpu ? charges_[pod].cpu : charges_[pod].memory;
}

// How many pods must go whose budgets allow no eviction, even if all others go.
int64_t Bounds::guarded_needed(size_t at, Dimension dimension, const std::vector<uint32_t>& pods) const {
  int64_t missing = missing_[at][dimension];
  std::vector<int64_t> guarded;
  for (const uint32_t pod : pods) {
    if (guarded_[pod]) guarded.push_back(frees(pod, dimension));
    if (!guarded_[pod]) missing -= frees(pod, dimension);
  }
  std::sort(guarded.rbegin(), guarded.rend());
  int64_t needed = 0;
  for (size_t i = 0; i < guarded.size() && missing > 0; ++i, ++needed) missing -= guarded[i];
  return needed;
}

std::optional<Harm> Bounds::least(size_t at, const std::vector<uint32_t>& pods) const {
  Harm least;
  least.start = INT64_MIN;
  size_t number = 1;
  if (pods.empty()) return std::nullopt;
  std::vector<std::pair<int64_t, int64_t>> by_priority;  // and what it frees
  for (const Dimension dimension : {kCpu, kMemory, kPods, kDevices}) {
    if (missing_[at][dimension] <= 0) continue;
    by_priority.clear();
    for (const uint32_t pod : pods) by_priority.emplace_back(world_.pods[pod].object->priority, frees(pod, dimension));
    std::sort(by_priority.begin(), by_priority.end());
    int64_t freed = 0;
    size_t taken = 0;
    for (; taken < by_priority.size() && freed < missing_[at][dimension]; ++taken) {
      freed += by_priority[taken].second;
      least.highest = std::max(least.highest, by_priority[taken].first);
    }
    if (freed < missing_[at][dimension]) return std::nullopt;
    std::sort(by_priority.begin(), by_priority.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
    freed = 0;
    size_t fewest = 0;
    while (freed < missing_[at][dimension]) freed += by_priority[fewest++].second;
    number = std::max(number, fewest);
    least.violations = std::max(least.violations, guarded_needed(at, dimension, pods));
  }
  std::vector<int64_t> priorities;
  for (const uint32_t pod : pods) priorities.push_back(world_.pods[pod].object->priority);
  std::sort(priorities.begin(), priorities.end());
  least.highest = std::max(least.highest, priorities[number - 1]);
  for (size_t i = 0; i < number; ++i) least.sum += priorities[i] + kPriorityOffset;
  least.number = static_cast<int64_t>(number);
  return least;
}

}  // namespace dra::preempt
