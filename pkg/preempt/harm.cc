#include "pkg/preempt/harm.h"

#include <algorithm>

namespace dra::preempt {
namespace {

constexpr int64_t kPriorityOffset = int64_t{1} << 31;

int64_t violations_of(const World& world, const std::vector<uint32_t>& pods) {
  int64_t sum = 0;
  for (const Budget& budget : world.budgets) {
    int64_t counted = 0;
    for (const uint32_t pod : pods) counted += std::binary_search(budget.pods.begin(), budget.pods.end(), pod);
    sum += std::max<int64_t>(0, counted - std::max<int64_t>(0, budget.allowed));
  }
  return sum;
}

}  // namespace

Harm harm_of_victims(const World& world, const std::vector<uint32_t>& pods) {
  Harm harm;
  harm.violations = violations_of(world, pods);
  harm.number = static_cast<int64_t>(pods.size());
  int64_t earliest = INT64_MAX;
  for (const uint32_t number : pods) {
    const Pod& pod = world.pods[number];
    const int64_t priority = pod.object->priority;
    harm.sum += priority + kPriorityOffset;
    if (priority > harm.highest) earliest = INT64_MAX;
    harm.highest = std::max(harm.highest, priority);
    if (priority == harm.highest) earliest = std::min(earliest, pod.start);
  }
  if (!pods.empty()) harm.start = -earliest;
  return harm;
}

Harm harm_of_moves(const World& world, const std::vector<uint32_t>& pods) {
  Harm harm;
  harm.violations = violations_of(world, pods);
  harm.number = static_cast<int64_t>(pods.size());
  for (const uint32_t number : pods) harm.gib += world.pods[number].gib;
  return harm;
}

}  // namespace dra::preempt
