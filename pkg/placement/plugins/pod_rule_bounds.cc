// Bounds what the rules of one pod about other pods cost. Each term of pod affinity and each spread constraint is
// compared with every distinct set of labels that pods of its namespaces have: 220 terms over all namespaces and 3,000
// sets made every decision take 0.1 s, and all other pods wait.
#include <string>

#include "pkg/base/strings.h"
#include "pkg/placement/plugins.h"

namespace dra::placement {
namespace {

// A pod with no more rules is decided however many pods there are.
constexpr size_t kFreeRules = 16;
constexpr size_t kMaxComparisons = 131'072;  // a fifth of those 220 x 3,000

size_t rules_of(const api::Pod& pod) {
  return pod.pod_affinity.required.size() + pod.pod_anti_affinity.required.size() + pod.pod_affinity.preferred.size() +
         pod.pod_anti_affinity.preferred.size() + pod.topology_spread.size();
}

size_t comparisons_of(const Cluster& cluster, const api::Pod& pod) {
  const size_t own = cluster.label_sets_in({false, {pod.metadata.ns}});
  size_t sum = pod.topology_spread.size() * own;
  const auto add = [&](const api::PodAffinityTerm& term) {
    // A selector of namespaces counts as all of them: to resolve it would be part of the cost.
    if (term.namespace_selector)
      sum += cluster.label_sets_in({true, {}});
    else
      sum += term.namespaces.empty() ? own : cluster.label_sets_in({false, term.namespaces});
  };
  for (const api::PodAffinityTerm& term : pod.pod_affinity.required) add(term);
  for (const api::PodAffinityTerm& term : pod.pod_anti_affinity.required) add(term);
  for (const api::WeightedPodAffinityTerm& weighted : pod.pod_affinity.preferred) add(weighted.term);
  for (const api::WeightedPodAffinityTerm& weighted : pod.pod_anti_affinity.preferred) add(weighted.term);
  return sum;
}

}  // namespace

// The sentence has no figure that changes with the pods of the cluster: each new sentence would be a new event.
void bound_pod_rules(Attempt& attempt) {
  const api::Pod& pod = attempt.pod();
  const size_t rules = rules_of(pod);
  if (rules <= kFreeRules || comparisons_of(attempt.cluster, pod) <= kMaxComparisons) return;
  attempt.decision.error = "pod " + quote(pod.metadata.key()) +
                           ": spec.affinity and spec.topologySpreadConstraints have " + std::to_string(rules) +
                           " terms about other pods. More than " + std::to_string(kFreeRules) +
                           " terms are compared with at most " + std::to_string(kMaxComparisons / rules) +
                           " different sets of pod labels if there are so many, and the namespaces of the terms have "
                           "more: use fewer terms, or terms that name namespaces";
}

}  // namespace dra::placement
