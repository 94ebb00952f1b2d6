#include "pkg/inspect/verbs/eviction_words.h"

#include <algorithm>

#include "pkg/base/strings.h"
#include "pkg/inspect/state/unseen.h"
#include "pkg/inspect/verbs/promised.h"

namespace dra::inspect {
namespace {

constexpr size_t kMostInWords = 5;

std::vector<std::string> devices_in(const api::AllocationResult& allocation) {
  std::vector<std::string> names;
  for (const auto& result : allocation.results) names.push_back(result.device);
  return names;
}

}  // namespace

preempt::Answer least_evictions(EvictionWorld& evictions, preempt::Kind kind, const EvictionLimits& limits) {
  const SystemClock clock;
  preempt::Options options;
  options.clock = &clock;
  options.time = limits.time;
  options.max_checks = limits.max_checks;
  return kind == preempt::Kind::kVictims ? preempt::who_must_go(evictions.world(), options)
                                         : preempt::who_must_move(evictions.world(), options);
}

std::string owner_text(const api::Pod& pod) {
  const api::OwnerReference* owner = pod.metadata.controller();
  return owner == nullptr ? "-" : to_lower(owner->kind) + "/" + owner->name;
}

std::string pod_text(const EvictionWorld& evictions, uint32_t pod) {
  const api::Pod& object = *evictions.world().pods[pod].object;
  const std::string owner = owner_text(object);
  const std::vector<std::string> budgets = evictions.budgets_of(pod);
  return object.metadata.key() + " (" + (owner == "-" ? "no controller" : owner) + ", priority " +
         std::to_string(object.priority) + (budgets.empty() ? "" : ", budget " + join(budgets, " and ")) + ")";
}

std::string pods_text(const EvictionWorld& evictions, const std::vector<uint32_t>& pods) {
  std::vector<std::string> texts;
  for (const uint32_t pod : pods) {
    if (texts.size() == kMostInWords) break;
    texts.push_back(pod_text(evictions, pod));
  }
  return join(texts, ", ") +
         (pods.size() > kMostInWords ? " and " + std::to_string(pods.size() - kMostInWords) + " more" : "");
}

std::vector<std::string> devices_of_pod(const EvictionWorld& evictions, uint32_t pod) {
  std::vector<std::string> names;
  for (const uint32_t claim : evictions.world().pods[pod].claims) {
    const auto& allocation = evictions.world().claims[claim]->status.allocation;
    if (!allocation) continue;
    for (std::string& name : devices_in(*allocation)) names.push_back(std::move(name));
  }
  return names;
}

std::string pending_text(const EvictionWorld& evictions) {
  const preempt::World& world = evictions.world();
  const preempt::Pod& first = world.pods[world.pending.front()];
  if (world.pending.size() == 1) return "pod " + first.object->metadata.key();
  const std::string number = std::to_string(world.pending.size());
  return first.group == preempt::kNobody ? "the " + number + " pods"
                                         : "the " + number + " waiting pods of group " + world.groups[first.group].name;
}

Table places_table(const EvictionWorld& evictions, const preempt::Answer& found) {
  Table table{"", "places", {{"POD", "pod"}, {"NODE", "node"}, {"DEVICES", "devices"}}, {}};
  const preempt::World& world = evictions.world();
  for (const uint32_t pod : world.pending) {
    const api::Pod& object = *world.pods[pod].object;
    const auto place = found.placements.find(object.metadata.key());
    if (place == found.placements.end()) continue;
    std::vector<std::string> devices;
    for (const uint32_t claim : world.pods[pod].claims)
      if (const auto given = found.allocations.find(world.claims[claim]->metadata.key());
          given != found.allocations.end())
        for (std::string& name : devices_in(given->second)) devices.push_back(std::move(name));
    table.rows.push_back(
        {"pod/" + object.metadata.name, {object.metadata.key(), Cell(place->second), Cell::list(std::move(devices))}});
  }
  return table;
}

void say_broken_budgets(Answer& answer, const EvictionWorld& evictions, const std::vector<uint32_t>& pods) {
  for (const preempt::Budget& budget : evictions.world().budgets) {
    std::vector<std::string> covered;
    for (const uint32_t pod : pods)
      if (std::binary_search(budget.pods.begin(), budget.pods.end(), pod))
        covered.push_back(evictions.world().pods[pod].object->metadata.key());
    if (static_cast<int64_t>(covered.size()) <= budget.allowed) continue;
    const size_t slash = budget.name.find('/');
    const size_t number = covered.size();
    answer.say({"BudgetBroken",
                "PodDisruptionBudget " + budget.name + " allows " +
                    counted(static_cast<uint64_t>(budget.allowed), "eviction") + ", and " + std::to_string(number) +
                    " of these pods " + (number == 1 ? "is" : "are") +
                    " under it: no other set of pods that makes room breaks budgets less.",
                {"PodDisruptionBudget", budget.name.substr(0, slash), budget.name.substr(slash + 1)},
                "status.disruptionsAllowed",
                {{"allowed", static_cast<uint64_t>(budget.allowed)}, {"pods", number}},
                {{"pods", std::move(covered)}}});
  }
}

void note_limits_of(Answer& answer, const EvictionWorld& evictions, const Objects& objects, std::string_view verb) {
  std::vector<std::string> left;
  uint64_t number = 0;
  for (const LeftOut& one : evictions.left_out()) {
    left.push_back(std::to_string(one.count) + " " + one.why);
    number += one.count;
  }
  if (number > 0)
    answer.notes.push_back(counted(number, "pod") + " of a priority that would allow it " +
                           (number == 1 ? "does" : "do") + " not " + std::string(verb) + ": " + join(left, ", "));
  note_promises(answer, objects);
  for (const std::string& clause : evictions.unknown()) {
    answer.notes.push_back("not known: " + clause);
    answer.status = answer.status == Status::kUsage ? answer.status : Status::kUnknown;
  }
  for (std::string& note : hidden_notes(objects, "; the answer may be wrong")) answer.notes.push_back(std::move(note));
  if (objects.hides_what_decides() && answer.status != Status::kUsage) answer.status = Status::kUnknown;
}

}  // namespace dra::inspect
