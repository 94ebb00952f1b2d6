#include "pkg/placement/decision.h"

#include <algorithm>
#include <array>
#include <utility>

#include "pkg/api/pod_bounds.h"
#include "pkg/api/selectors.h"
#include "pkg/base/strings.h"
#include "pkg/placement/attempt.h"
#include "pkg/placement/plugins.h"

namespace dra::placement {
namespace {

constexpr size_t kMaxSummary = 1024;
// For fewer nodes than this, labels are looked up instead of made into columns.
constexpr size_t kFewNodes = 64;

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

void run_filters(Attempt& attempt) {
  filter_node_deletion(attempt);
  filter_node_unschedulable(attempt);
  filter_node_name(attempt);
  filter_taints(attempt);
  filter_node_affinity(attempt);
  filter_ports(attempt);
  filter_resources(attempt);
}

// Runs the PreFilters first, in order; the first that refuses the whole pod ends the attempt.
void run(Attempt& attempt) {
  bound_pod_rules(attempt);
  if (attempt.stopped()) return;
  prefilter_node_affinity(attempt);
  if (attempt.stopped()) return;
  prefilter_topology_spread(attempt);
  if (attempt.stopped()) return;
  const bool storage = attempt.options.volumes == Volumes::kChecked && !attempt.pod().volumes.empty();
  if (!storage) {
    run_filters(attempt);
    filter_volume_restrictions(attempt);  // disks that pods name themselves
  } else {
    prefilter_volume_restrictions(attempt);
    if (attempt.stopped()) return;
    VolumeBinding binding(attempt);
    if (attempt.stopped()) return;
    const VolumeZone zone(attempt);
    if (attempt.stopped()) return;
    run_filters(attempt);
    filter_volume_restrictions(attempt);
    filter_volume_limits(attempt);
    binding.filter(attempt);
    zone.filter(attempt);
  }
  filter_topology_spread(attempt);
  filter_inter_pod_affinity(attempt);
}

// There are few distinct scores and perhaps many nodes, so this is a counting sort.
std::vector<RankedNode> best_first(const Scores& scores) {
  std::array<size_t, kMaxTotalScore + 1> place{};  // by the distance to the highest score
  const auto missing = [](int64_t score) {
    return static_cast<size_t>(std::clamp<int64_t>(kMaxTotalScore - score, 0, kMaxTotalScore));
  };
  for (const int64_t total : scores.totals) ++place[missing(total)];
  size_t next = 0;
  for (size_t& at : place) next += std::exchange(at, next);
  std::vector<RankedNode> sorted(scores.nodes.size());
  for (size_t i = 0; i < scores.nodes.size(); ++i)
    sorted[place[missing(scores.totals[i])]++] = {scores.nodes[i], scores.totals[i], scores.preferred[i]};
  return sorted;
}

void score(Attempt& attempt) {
  Scores scores;
  for (size_t i = 0; i < attempt.decision.candidates.size(); ++i)
    if (attempt.decision.verdicts[i].plugin == Plugin::kNone) scores.nodes.push_back(attempt.decision.candidates[i]);
  scores.totals.resize(scores.nodes.size());
  if (scores.nodes.empty()) return;
  score_taints(attempt, scores);
  score_node_affinity(attempt, scores);
  score_inter_pod_affinity(attempt, scores);
  score_topology_spread(attempt, scores);
  scores.preferred = scores.totals;
  if (attempt.options.preferences_only) {
    attempt.decision.nodes.reserve(scores.nodes.size());
    for (size_t i = 0; i < scores.nodes.size(); ++i)
      attempt.decision.nodes.push_back({scores.nodes[i], scores.preferred[i], scores.preferred[i]});
    return;
  }
  score_resources(attempt, scores);
  score_balance(attempt, scores);
  score_images(attempt, scores);
  attempt.decision.nodes = best_first(scores);
}

std::vector<std::string> resource_words(const std::vector<std::string>& others) {
  std::vector<std::string> out = {"Too many pods", "Insufficient cpu", "Insufficient memory",
                                  "Insufficient ephemeral-storage"};
  for (const std::string& name : others) out.push_back("Insufficient " + name);
  return out;
}

const Words& words_of(Plugin plugin) {
  static const Words kDeletion = {"node(s) are being deleted"};
  static const Words kUnschedulable = {"node(s) were unschedulable"};
  static const Words kName = {"node(s) didn't match the requested node name"};
  static const Words kTaints = {"node(s) had untolerated taint(s)"};
  static const Words kAffinity = {"node(s) didn't match Pod's node affinity/selector"};
  static const Words kPorts = {"node(s) didn't have free ports for the requested pod ports"};
  static const Words kLimits = {"node(s) exceed max volume count"};
  static const Words kZone = {"node(s) had no available volume zone"};
  static const Words kNothing;
  switch (plugin) {
    case Plugin::kNodeDeletion:
      return kDeletion;
    case Plugin::kNodeUnschedulable:
      return kUnschedulable;
    case Plugin::kNodeName:
      return kName;
    case Plugin::kTaintToleration:
      return kTaints;
    case Plugin::kNodeAffinity:
      return kAffinity;
    case Plugin::kNodePorts:
      return kPorts;
    case Plugin::kVolumeRestrictions:
      return kVolumeRestrictionWords;
    case Plugin::kNodeVolumeLimits:
      return kLimits;
    case Plugin::kVolumeBinding:
      return kVolumeBindingWords;
    case Plugin::kVolumeZone:
      return kZone;
    case Plugin::kPodTopologySpread:
      return kTopologySpreadWords;
    case Plugin::kInterPodAffinity:
      return kInterPodAffinityWords;
    case Plugin::kNone:
    case Plugin::kNodeResourcesFit:
      break;
  }
  return kNothing;
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

Decision decide(const Cluster& cluster, const PodNeeds& needs, const DecisionOptions& options) {
  cluster.begin_decision();
  Attempt attempt(cluster, needs, options);
  Decision& decision = attempt.decision;
  decision.candidates = options.only ? *options.only : cluster.nodes();
  decision.verdicts.resize(decision.candidates.size());
  for (const auto& [name, amount] : needs.charge().others) decision.other_resources.push_back(name);
  const api::Pod& pod = needs.pod();
  const bool many = decision.candidates.size() > kFewNodes || !pod.topology_spread.empty();
  attempt.node_matcher = std::make_unique<NodeMatcher>(cluster, pod, many);
  run(attempt);
  if (!attempt.stopped()) score(attempt);
  return std::move(attempt.decision);
}

std::vector<std::string> Decision::reasons(const Verdict& verdict) const {
  std::vector<std::string> out;
  const auto pick = [&](const auto& words) {
    for (size_t i = 0; i < words.size() && i < 64; ++i)
      if (verdict.reasons >> i & 1) out.emplace_back(words[i]);
  };
  if (verdict.plugin == Plugin::kNodeResourcesFit)
    pick(resource_words(other_resources));
  else
    pick(words_of(verdict.plugin));
  return out;
}

bool Decision::depends_on_pods() const {
  return std::any_of(verdicts.begin(), verdicts.end(), [](const Verdict& verdict) {
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
                     [](const Verdict& verdict) { return placement::depends_on_capacity(verdict.plugin); });
}

VolumePlan plan_on(NodeIndex node, Decision decision) {
  const auto found = decision.plans.find(node);
  return found == decision.plans.end() ? VolumePlan{} : std::move(found->second);
}

std::string Decision::summary() const {
  const size_t examined = candidates.size() + not_named;
  const std::string of = std::to_string(nodes.size()) + "/" + std::to_string(examined) + " nodes are available";
  if (error) return *error;
  if (pod_refused_by != Plugin::kNone) return of + ": " + pod_reason + ".";
  if (examined == 0) return "0/0 nodes are available: there are no nodes.";
  std::map<std::pair<Plugin, uint64_t>, size_t> kinds;  // few: the words are made once for each
  for (const Verdict& verdict : verdicts)
    if (verdict.plugin != Plugin::kNone) ++kinds[{verdict.plugin, verdict.reasons}];
  std::map<std::string, size_t> counts;
  if (not_named > 0) counts["node(s) didn't satisfy plugin(s) [NodeAffinity]"] = not_named;
  for (const auto& [kind, count] : kinds)
    for (const std::string& reason : reasons({kind.first, false, kind.second})) counts[reason] += count;
  std::vector<std::string> parts;
  for (const auto& [reason, count] : counts) parts.push_back(std::to_string(count) + " " + reason);
  std::sort(parts.begin(), parts.end());
  std::string out = of;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (out.size() + parts[i].size() + 16 > kMaxSummary) {
      out += ", and more";
      break;
    }
    out += (i == 0 ? ": " : ", ") + parts[i];
  }
  return out + ".";
}

}  // namespace dra::placement
