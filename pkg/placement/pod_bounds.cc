#include "pkg/placement/pod_bounds.h"

#include <string>
#include <vector>

#include "pkg/base/strings.h"

namespace dra::placement {

namespace {

size_t parts(const std::vector<std::string>& values) {
  return values.size();
}
// Of node selectors and of label selectors.
template <typename Requirement>
size_t requirement_parts(const std::vector<Requirement>& requirements) {
  size_t sum = 0;
  for (const Requirement& requirement : requirements) sum += 1 + parts(requirement.values);
  return sum;
}
size_t parts(const api::NodeSelectorTerm& term) {
  return 1 + requirement_parts(term.match_expressions) + requirement_parts(term.match_fields);
}
size_t parts(const api::NodeAffinity& affinity) {
  size_t sum = 0;
  if (affinity.required)
    for (const api::NodeSelectorTerm& term : affinity.required->terms) sum += parts(term);
  for (const api::PreferredSchedulingTerm& term : affinity.preferred) sum += parts(term.preference);
  return sum;
}
size_t parts(const std::optional<api::LabelSelector>& selector) {
  return selector ? selector->match_labels.size() + requirement_parts(selector->match_expressions) : 0;
}
size_t parts(const api::PodAffinityTerm& term) {
  return 1 + parts(term.label_selector) + parts(term.namespaces) + parts(term.namespace_selector);
}
size_t parts(const api::PodAffinity& affinity) {
  size_t sum = 0;
  for (const api::PodAffinityTerm& term : affinity.required) sum += parts(term);
  for (const api::WeightedPodAffinityTerm& term : affinity.preferred) sum += parts(term.term);
  return sum;
}

}  // namespace

size_t scheduling_parts(const api::Pod& pod) {
  size_t sum = pod.node_selector.size() + pod.tolerations.size();
  if (pod.node_affinity) sum += parts(*pod.node_affinity);
  sum += parts(pod.pod_affinity) + parts(pod.pod_anti_affinity);
  for (const api::TopologySpreadConstraint& constraint : pod.topology_spread)
    sum += 1 + parts(constraint.label_selector) + parts(constraint.match_label_keys);
  return sum;
}

Result<void> check_bounds(const api::Pod& pod) {
  const size_t sum = scheduling_parts(pod);
  if (sum <= kMaxSchedulingParts) return {};
  return fail(Code::kResourceExhausted,
              "pod " + quote(pod.metadata.key()) +
                  ": spec.affinity, spec.topologySpreadConstraints, spec.nodeSelector and spec.tolerations have " +
                  std::to_string(sum) + " terms, values and tolerations, and at most " +
                  std::to_string(kMaxSchedulingParts) + " are looked at: name nodes by a label that they share");
}

}  // namespace dra::placement
