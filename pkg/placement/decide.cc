#include "pkg/placement/decide.h"

#include <algorithm>
#include <array>
#include <utility>

#include "pkg/placement/attempt.h"
#include "pkg/placement/plugins.h"

namespace dra::placement {
namespace {

// For fewer nodes than this, labels are looked up instead of made into columns.
constexpr size_t kFewNodes = 64;

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

// The best first; among equals in the order of `scores`.
std::vector<RankedNode> best_first(const Scores& scores) {
  if (scores.nodes.size() <= kFewNodes) {
    std::vector<RankedNode> sorted;
    sorted.reserve(scores.nodes.size());
    for (size_t i = 0; i < scores.nodes.size(); ++i)
      sorted.push_back({scores.nodes[i], scores.totals[i], scores.preferred[i]});
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const RankedNode& a, const RankedNode& b) { return a.score > b.score; });
    return sorted;
  }
  // There are few distinct scores, so this is a counting sort.
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

}  // namespace

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

}  // namespace dra::placement
