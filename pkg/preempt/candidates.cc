#include "pkg/preempt/candidates.h"

#include <algorithm>

namespace dra::preempt {
namespace {

constexpr std::string_view kMirrorAnnotation = "kubernetes.io/config.mirror";

// kubelet runs a mirror pod whatever the API says; a pod of another scheduler is replaced by a pod of that scheduler.
bool may_be_victim(const Pod& pod) {
  const api::ObjectMeta& meta = pod.object->metadata;
  const bool of_node = pod.of_node || (meta.controller() != nullptr && meta.controller()->kind == "Node");
  return pod.runs() && pod.ours && !of_node && !meta.annotations.contains(kMirrorAnnotation);
}

bool may_move(const Pod& pod, uint32_t budgets) {
  const api::OwnerReference* owner = pod.object->metadata.controller();
  if (owner == nullptr || owner->kind == "DaemonSet" || !pod.replaced || pod.tied) return false;
  const auto& annotations = pod.object->metadata.annotations;
  if (const auto mark = annotations.find(kDoNotMove); mark != annotations.end() && mark->second == "true") return false;
  return budgets < 2;  // the Eviction API refuses a pod under two budgets for good
}

// By pod: how many budgets select it.
std::vector<uint32_t> budgets_by_pod(const World& world) {
  std::vector<uint32_t> budgets(world.pods.size(), 0);
  for (const Budget& budget : world.budgets)
    for (const uint32_t pod : budget.covers) ++budgets[pod];
  return budgets;
}

}  // namespace

int64_t priority_of(const World& world, const std::vector<uint32_t>& pods) {
  int64_t lowest = INT64_MAX;
  for (const uint32_t pod : pods) lowest = std::min<int64_t>(lowest, world.pods[pod].object->priority);
  return lowest;
}

Candidates::Candidates(const World& world, Kind kind, int64_t priority, bool anybody)
    : world_(world), may_go_(world.pods.size()), groups_(world.groups.size()) {
  const std::vector<uint32_t> budgets = budgets_by_pod(world);
  for (uint32_t number = 0; number < world.pods.size(); ++number) {
    const Pod& pod = world.pods[number];
    const int64_t own = pod.object->priority;
    const bool low = kind == Kind::kVictims ? own < priority : own <= priority;
    const bool of_kind = kind == Kind::kVictims ? !pod.kept_by_class : may_move(pod, budgets[number]);
    may_go_[number] = anybody && low && may_be_victim(pod) && of_kind;
    if (may_go_[number]) all_.push_back(number);
    if (pod.group == kNobody || !pod.runs()) continue;
    groups_[pod.group].running.push_back(number);
    groups_[pod.group].all_may_go = groups_[pod.group].all_may_go && may_go_[number];
  }
  for (size_t i = 0; i < groups_.size(); ++i) {
    const size_t running = groups_[i].running.size(), minimum = world.groups[i].min_count;
    groups_[i].surplus = world.groups[i].whole || running < minimum ? 0 : running - minimum;
  }
}

std::optional<std::vector<uint32_t>> Candidates::closed(std::vector<uint32_t> pods) const {
  std::vector<std::pair<uint32_t, size_t>> leaving;  // of each group
  for (const uint32_t pod : pods) {
    const uint32_t group = world_.pods[pod].group;
    if (group == kNobody) continue;
    const auto known =
        std::find_if(leaving.begin(), leaving.end(), [&](const auto& one) { return one.first == group; });
    if (known == leaving.end()) {
      leaving.emplace_back(group, 1);
    } else {
      ++known->second;
    }
  }
  for (const auto& [group, number] : leaving) {
    const Members& members = groups_[group];
    if (number <= members.surplus || number == members.running.size()) continue;
    if (!members.all_may_go) return std::nullopt;
    pods.insert(pods.end(), members.running.begin(), members.running.end());
  }
  std::sort(pods.begin(), pods.end());
  pods.erase(std::unique(pods.begin(), pods.end()), pods.end());
  return pods;
}

bool Candidates::allowed(const std::vector<uint32_t>& pods) const {
  if (!std::all_of(pods.begin(), pods.end(), [this](uint32_t pod) { return may_go_[pod]; })) return false;
  const auto whole = closed(pods);
  return whole && whole->size() == pods.size();
}

}  // namespace dra::preempt
