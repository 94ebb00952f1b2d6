#include "pkg/preempt/facts.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <numeric>
#include <tuple>
#include <unordered_map>

#include "pkg/api/quantity.h"
#include "pkg/api/selectors.h"

namespace dra::preempt {
namespace {

constexpr double kGib = 1024.0 * 1024.0 * 1024.0;

class Joining {
 public:
  Joining(World& world, const std::vector<PodGroupFacts>& groups) : world_(world) {
    for (const PodGroupFacts& group : groups) known_.emplace(text_of(group.of_plugins, group.key), &group);
  }

  void join(Pod& pod) {
    const api::Pod& object = *pod.object;
    const std::string ns = object.metadata.ns + "/";
    if (!object.pod_group_name.empty()) return join_object(pod, false, ns + object.pod_group_name);
    const auto label = object.metadata.labels.find(kGroupLabel);
    if (label != object.metadata.labels.end()) return join_object(pod, true, ns + label->second);
    join_job(pod);
  }

 private:
  static std::string text_of(bool of_plugins, const std::string& key) { return (of_plugins ? "x:" : "k:") + key; }

  void join_object(Pod& pod, bool of_plugins, const std::string& key) {
    const std::string text = text_of(of_plugins, key);
    const auto found = known_.find(text);
    pod.group_missing = found == known_.end();
    if (pod.group_missing) return;
    const PodGroupFacts& group = *found->second;
    if (!group.min_count && !group.whole) return;  // each pod by itself
    pod.group = number_of(text, {key, counted(group.min_count.value_or(0)), group.whole});
  }

  void join_job(Pod& pod) {
    const api::ObjectMeta& meta = pod.object->metadata;
    const auto annotation = meta.annotations.find(kGroupAnnotation);
    const api::OwnerReference* owner = meta.controller();
    if (annotation == meta.annotations.end() || owner == nullptr || owner->kind != "Job") return;
    int64_t number = 0;
    const std::string& text = annotation->second;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || end != text.data() + text.size() || number < 1) return;
    pod.group = number_of("job:" + meta.ns + "/" + owner->uid, {meta.ns + "/" + owner->name, counted(number), false});
  }

  static uint32_t counted(int64_t number) { return static_cast<uint32_t>(std::clamp<int64_t>(number, 0, INT32_MAX)); }

  uint32_t number_of(const std::string& text, Group group) {
    const auto [at, inserted] = numbers_.emplace(text, static_cast<uint32_t>(world_.groups.size()));
    if (inserted) world_.groups.push_back(std::move(group));
    return at->second;
  }

  World& world_;
  std::unordered_map<std::string, const PodGroupFacts*> known_;
  std::unordered_map<std::string, uint32_t> numbers_;
};

bool is_ready(const api::Pod& pod) {
  const auto ready = std::find_if(pod.conditions.begin(), pod.conditions.end(),
                                  [](const api::Condition& condition) { return condition.type == "Ready"; });
  return ready == pod.conditions.end() || ready->status == "True";
}

// The eviction of a pod that the budget selects.
bool counts(const api::Pod& pod, const api::PodDisruptionBudget& budget) {
  const std::vector<std::string>& disrupted = budget.disrupted_pods;
  if (std::find(disrupted.begin(), disrupted.end(), pod.metadata.name) != disrupted.end()) return false;
  const bool enough_healthy = budget.desired_healthy > 0 && budget.current_healthy >= budget.desired_healthy;
  return is_ready(pod) || !(budget.always_allow || enough_healthy);
}

}  // namespace

bool names_group(const api::Pod& pod) {
  const auto& [labels, annotations] = std::tie(pod.metadata.labels, pod.metadata.annotations);
  return !pod.pod_group_name.empty() || labels.contains(kGroupLabel) || annotations.contains(kGroupAnnotation);
}

void join_groups(World& world, const std::vector<PodGroupFacts>& groups, std::span<const uint32_t> pods) {
  Joining joining(world, groups);
  for (const uint32_t pod : pods) joining.join(world.pods[pod]);
}

void join_groups(World& world, const std::vector<PodGroupFacts>& groups) {
  std::vector<uint32_t> all(world.pods.size());
  std::iota(all.begin(), all.end(), 0);
  join_groups(world, groups, all);
}

void add_budgets(World& world, std::span<const std::shared_ptr<const api::PodDisruptionBudget>> budgets) {
  const size_t first = world.budgets.size();
  // Those of a namespace by the first label that they ask for, and its value; others ask for no value.
  struct Asking {
    std::map<std::string_view, std::unordered_map<std::string_view, std::vector<size_t>>> by_label;
    std::vector<size_t> others;
  };
  std::unordered_map<std::string_view, Asking> of_namespace;
  for (size_t i = 0; i < budgets.size(); ++i) {
    const api::PodDisruptionBudget& source = *budgets[i];
    Budget& budget = world.budgets.emplace_back();
    budget.name = source.metadata.key();
    // What the status says counts once the disruption controller has seen the spec.
    if (source.observed_generation >= source.metadata.generation)
      budget.allowed = std::max<int64_t>(0, source.disruptions_allowed);
    const std::optional<api::LabelSelector>& selector = source.selector;
    if (!selector || (selector->match_labels.empty() && selector->match_expressions.empty())) continue;
    Asking& asking = of_namespace[source.metadata.ns];
    if (selector->match_labels.empty()) {
      asking.others.push_back(i);
    } else {
      const auto& [label, value] = *selector->match_labels.begin();
      asking.by_label[label][value].push_back(i);
    }
  }
  if (of_namespace.empty()) return;
  for (uint32_t number = 0; number < world.pods.size(); ++number) {
    const api::Pod& pod = *world.pods[number].object;
    const auto asking = of_namespace.find(pod.metadata.ns);
    if (asking == of_namespace.end()) continue;
    const auto judge = [&](size_t i) {
      const api::PodDisruptionBudget& source = *budgets[i];
      if (!api::matches(*source.selector, pod.metadata.labels)) return;
      Budget& budget = world.budgets[first + i];
      budget.covers.push_back(number);
      if (counts(pod, source)) budget.pods.push_back(number);
    };
    for (const size_t i : asking->second.others) judge(i);
    for (const auto& [label, by_value] : asking->second.by_label) {
      const auto has = pod.metadata.labels.find(label);
      if (has == pod.metadata.labels.end()) continue;
      if (const auto those = by_value.find(has->second); those != by_value.end())
        for (const size_t i : those->second) judge(i);
    }
  }
}

void measure(World& world, const std::function<double(const api::DeviceRequestAllocationResult&)>& memory) {
  std::unordered_map<std::string, uint32_t> by_uid;
  for (uint32_t pod = 0; pod < world.pods.size(); ++pod) {
    world.pods[pod].gib = 0;
    by_uid.emplace(world.pods[pod].object->metadata.uid, pod);
  }
  for (const auto& claim : world.claims) {
    if (!claim->status.allocation || claim->status.reserved_for.empty()) continue;
    double size = 0;
    for (const api::DeviceRequestAllocationResult& result : claim->status.allocation->results) {
      if (result.admin_access) continue;
      const auto consumed = result.consumed_capacity.find("memory");
      const Result<api::Quantity> amount =
          consumed == result.consumed_capacity.end() ? api::Quantity() : api::Quantity::parse(consumed->second);
      size += consumed != result.consumed_capacity.end() && amount ? amount->approximate() / kGib : memory(result);
    }
    // Among the pods: what else has the claim, an entry that keeps its devices, bears no harm.
    const auto& consumers = claim->status.reserved_for;
    const auto is_pod = [](const auto& one) { return one.api_group.empty() && one.resource == "pods"; };
    const auto pods = std::count_if(consumers.begin(), consumers.end(), is_pod);
    for (const api::ResourceClaimConsumerReference& consumer : consumers)
      if (const auto pod = by_uid.find(consumer.uid); pod != by_uid.end() && is_pod(consumer))
        world.pods[pod->second].gib += size / static_cast<double>(pods);
  }
}

}  // namespace dra::preempt
