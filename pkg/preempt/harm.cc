#include "pkg/preempt/harm.h"

#include <algorithm>

namespace dra::preempt {

Harms::Harms(const World& world) : world_(world), budgets_(world.pods.size()) {
  for (uint32_t number = 0; number < world.budgets.size(); ++number)
    for (const uint32_t pod : world.budgets[number].pods) budgets_[pod].push_back(number);
}

int64_t Harms::violations_of(std::span<const uint32_t> pods) const {
  std::vector<std::pair<uint32_t, int64_t>> counted;  // of each budget; few sets have pods of many
  for (const uint32_t pod : pods)
    for (const uint32_t budget : budgets_[pod]) {
      const auto known =
          std::find_if(counted.begin(), counted.end(), [budget](const auto& one) { return one.first == budget; });
      if (known == counted.end()) {
        counted.emplace_back(budget, 1);
      } else {
        ++known->second;
      }
    }
  int64_t sum = 0;
  for (const auto& [budget, number] : counted)
    sum += std::max<int64_t>(0, number - std::max<int64_t>(0, world_.budgets[budget].allowed));
  return sum;
}

Harm Harms::of_victims(std::span<const uint32_t> pods) const {
  Harm harm;
  harm.violations = violations_of(pods);
  harm.number = static_cast<int64_t>(pods.size());
  int64_t earliest = INT64_MAX;
  for (const uint32_t number : pods) {
    const Pod& pod = world_.pods[number];
    const int64_t priority = pod.object->priority;
    harm.sum += priority + kPriorityOffset;
    if (priority > harm.highest) earliest = INT64_MAX;
    harm.highest = std::max(harm.highest, priority);
    if (priority == harm.highest) earliest = std::min(earliest, pod.start);
  }
  if (!pods.empty()) harm.start = -earliest;
  return harm;
}

Harm Harms::of_moves(std::span<const uint32_t> pods) const {
  Harm harm;
  harm.violations = violations_of(pods);
  harm.number = static_cast<int64_t>(pods.size());
  for (const uint32_t number : pods) harm.gib += world_.pods[number].gib;
  return harm;
}

Harm harm_of_victims(const World& world, const std::vector<uint32_t>& pods) {
  return Harms(world).of_victims(pods);
}

Harm harm_of_moves(const World& world, const std::vector<uint32_t>& pods) {
  return Harms(world).of_moves(pods);
}

}  // namespace dra::preempt
