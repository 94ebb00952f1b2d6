#include "pkg/placement/decision.h"

#include <algorithm>
#include <array>
#include <utility>

#include "pkg/api/pod_bounds.h"
#include "pkg/api/selectors.h"
#include "pkg/base/strings.h"

namespace dra::placement {
namespace {

Error broken_selector(const api::Pod& pod, const std::string& field) {
  return Error(Code::kInvalidArgument,
               "pod " + quote(pod.metadata.key()) + ": " + field +
                   ": the selector cannot be parsed; use In and NotIn with values, Exists and DoesNotExist without");
}

std::optional<std::string> broken_term(const std::vector<api::PodAffinityTerm>& terms, const std::string& field) {
  for (size_t i = 0; i < terms.size(); ++i) {
    const std::string at = field + "[" + std::to_string(i) + "]";
    if (terms[i].label_selector && !api::well_formed(*terms[i].label_selector)) return at + ".labelSelector";
    if (terms[i].namespace_selector && !api::well_formed(*terms[i].namespace_selector))
      return at + ".namespaceSelector";
  }
  return std::nullopt;
}

// The field of the first selector that cannot be parsed.
std::optional<std::string> broken_field(const api::Pod& pod) {
  const std::string required = "requiredDuringSchedulingIgnoredDuringExecution";
  if (auto broken = broken_term(pod.pod_affinity.required, "spec.affinity.podAffinity." + required)) return broken;
  if (auto broken = broken_term(pod.pod_anti_affinity.required, "spec.affinity.podAntiAffinity." + required))
    return broken;
  for (size_t i = 0; i < pod.topology_spread.size(); ++i)
    if (pod.topology_spread[i].label_selector && !api::well_formed(*pod.topology_spread[i].label_selector))
      return "spec.topologySpreadConstraints[" + std::to_string(i) + "].labelSelector";
  return std::nullopt;
}

}  // namespace

std::string_view plugin_name(Plugin plugin) {
  static constexpr std::array<std::string_view, 14> kNames = {"",
                                                              "NodeDeletion",
                                                              "NodeUnschedulable",
                                                              "NodeName",
                                                              "TaintToleration",
                                                              "NodeAffinity",
                                                              "NodePorts",
                                                              "NodeResourcesFit",
                                                              "VolumeRestrictions",
                                                              "NodeVolumeLimits",
                                                              "VolumeBinding",
                                                              "VolumeZone",
                                                              "PodTopologySpread",
                                                              "InterPodAffinity"};
  return kNames.at(static_cast<size_t>(plugin));
}

Result<PodNeeds> PodNeeds::of(const api::Pod& pod, const std::function<bool(const std::string&)>& ignored) {
  if (const Result<void> bounded = api::check_bounds(pod); !bounded) return fail(bounded.error());
  if (const auto field = broken_field(pod)) return fail(broken_selector(pod, *field));
  Result<Charge> charge = pending_charge(pod, ignored);
  if (!charge) return fail(charge.error());
  PodNeeds needs(pod);
  needs.charge_ = std::move(*charge);
  for (const api::PodAffinityTerm& term : pod.pod_affinity.required)
    needs.affinity_.push_back(AffinityTerm::of(term, pod.metadata.ns));
  for (const api::PodAffinityTerm& term : pod.pod_anti_affinity.required)
    needs.anti_affinity_.push_back(AffinityTerm::of(term, pod.metadata.ns));
  return needs;
}

bool PodNeeds::reads_namespaces() const {
  const auto reads = [](const AffinityTerm& term) { return term.reads_namespace_labels(); };
  return std::any_of(affinity_.begin(), affinity_.end(), reads) ||
         std::any_of(anti_affinity_.begin(), anti_affinity_.end(), reads);
}

bool PodNeeds::reads_storage() const {
  return std::any_of(pod_->volumes.begin(), pod_->volumes.end(),
                     [](const api::PodVolume& v) { return v.ephemeral || !v.claim_name.empty(); });
}

bool Decision::depends_on_pods() const {
  return std::any_of(verdicts.begin(), verdicts.end(), [](const NodeRefusal& verdict) {
    return verdict.plugin == Plugin::kPodTopologySpread || verdict.plugin == Plugin::kInterPodAffinity;
  });
}

bool depends_on_capacity(Plugin plugin) {
  switch (plugin) {
    case Plugin::kNone:
    case Plugin::kNodeDeletion:
    case Plugin::kNodeUnschedulable:
    case Plugin::kNodeName:
    case Plugin::kTaintToleration:
    case Plugin::kNodeAffinity:
      return false;
    default:
      return true;
  }
}

bool Decision::depends_on_capacity() const {
  if (error || pod_refused_by != Plugin::kNone) return true;
  return std::any_of(verdicts.begin(), verdicts.end(),
                     [](const NodeRefusal& verdict) { return placement::depends_on_capacity(verdict.plugin); });
}

VolumePlan plan_on(NodeIndex node, Decision decision) {
  const auto found = decision.plans.find(node);
  return found == decision.plans.end() ? VolumePlan{} : std::move(found->second);
}

}  // namespace dra::placement
