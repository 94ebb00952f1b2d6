#include "pkg/api/pod_bounds.h"

#include <string>
#include <vector>

#include "pkg/base/strings.h"

namespace dra::api {

namespace {

size_t parts(const std::vector<std::string>& values) {
  return values.size();
}
// For node selectors and for label selectors.
template <typename Requirement>
size_t requirement_parts(const std::vector<Requirement>& requirements) {
  size_t sum = 0;
  for (const Requirement& requirement : requirements) sum += 1 + parts(requirement.values);
  return sum;
}
size_t parts(const NodeSelectorTerm& term) {
  return 1 + requirement_parts(term.match_expressions) + requirement_parts(term.match_fields);
}
size_t parts(const NodeAffinity& affinity) {
  size_t sum = 0;
  if (affinity.required)
    for (const NodeSelectorTerm& term : affinity.required->terms) sum += parts(term);
  for (const PreferredSchedulingTerm& term : affinity.preferred) sum += parts(term.preference);
  return sum;
}
size_t parts(const std::optional<LabelSelector>& selector) {
  return selector ? selector->match_labels.size() + requirement_parts(selector->match_expressions) : 0;
}
size_t parts(const PodAffinityTerm& term) {
  return kPartsOfAPodTerm + parts(term.label_selector) + parts(term.namespaces) + parts(term.namespace_selector);
}
size_t parts(const PodAffinity& affinity) {
  size_t sum = 0;
  for (const PodAffinityTerm& term : affinity.required) sum += parts(term);
  for (const WeightedPodAffinityTerm& term : affinity.preferred) sum += parts(term.term);
  return sum;
}

}  // namespace

size_t scheduling_parts(const Pod& pod) {
  if (pod.scheduling_parts_dropped > 0) return pod.scheduling_parts_dropped;
  size_t sum = pod.node_selector.size() + pod.tolerations.size();
  if (pod.node_affinity) sum += parts(*pod.node_affinity);
  sum += parts(pod.pod_affinity) + parts(pod.pod_anti_affinity);
  for (const TopologySpreadConstraint& constraint : pod.topology_spread)
    sum += kPartsOfAPodTerm + parts(constraint.label_selector) + parts(constraint.match_label_keys);
  return sum;
}

void drop_beyond_bounds(Pod& pod) {
  const size_t sum = scheduling_parts(pod);
  if (sum <= kMaxSchedulingParts || pod.scheduling_parts_dropped > 0) return;
  pod.scheduling_parts_dropped = sum;
  pod.node_selector = {};
  pod.node_affinity.reset();
  pod.pod_affinity = {};
  pod.pod_anti_affinity = {};
  pod.topology_spread = {};
  pod.tolerations = {};
}

Result<void> check_bounds(const Pod& pod) {
  const size_t sum = scheduling_parts(pod);
  if (sum <= kMaxSchedulingParts) return {};
  return fail(Code::kResourceExhausted,
              "pod " + quote(pod.metadata.key()) +
                  ": spec.affinity, spec.topologySpreadConstraints, spec.nodeSelector and spec.tolerations have " +
                  std::to_string(sum) + " terms, values and tolerations (one of pod affinity or spread counts " +
                  std::to_string(kPartsOfAPodTerm) + "), and at most " + std::to_string(kMaxSchedulingParts) +
                  " are looked at: name nodes and pods by a label that they share");
}

}  // namespace dra::api
