// TaintToleration. Nodes share few sets of taints: each set is evaluated once.
#include <algorithm>

#include "pkg/api/selectors.h"
#include "pkg/placement/plugins.h"
#include "pkg/placement/plugins/taints.h"

namespace dra::placement {
namespace {

constexpr int64_t kTaintWeight = 3;

}  // namespace

TaintCounts::TaintCounts(const Cluster& cluster, const api::Pod& pod, Effects effects)
    : cluster_(cluster), pod_(pod), effects_(effects), by_set_(cluster.taint_sets(), kUnknown) {}

int32_t TaintCounts::untolerated(NodeIndex node) {
  const uint32_t set = cluster_.row(node).taints;
  int32_t& known = by_set_[set];
  if (known != kUnknown) return known;
  known = 0;
  for (const api::Taint& taint : cluster_.taints(set)) {
    const bool soft = taint.effect == "PreferNoSchedule";
    const bool hard = taint.effect == "NoSchedule" || taint.effect == "NoExecute";
    if ((effects_ == Effects::kHard ? hard : soft) && !api::tolerates(pod_.tolerations, taint)) ++known;
  }
  return known;
}

void filter_taints(Attempt& attempt) {
  TaintCounts counts(attempt.cluster, attempt.pod(), TaintCounts::Effects::kHard);
  attempt.filter([&](NodeIndex node) {
    return counts.untolerated(node) > 0 ? refuse(Plugin::kTaintToleration, true) : NodeRefusal{};
  });
}

void score_taints(const Attempt& attempt, Scores& scores) {
  TaintCounts counts(attempt.cluster, attempt.pod(), TaintCounts::Effects::kSoft);
  int64_t most = 0;
  for (const NodeIndex node : scores.nodes) most = std::max<int64_t>(most, counts.untolerated(node));
  for (size_t i = 0; i < scores.nodes.size(); ++i) {
    const int64_t lost = most == 0 ? 0 : kMaxPluginScore * counts.untolerated(scores.nodes[i]) / most;
    scores.totals[i] += kTaintWeight * (kMaxPluginScore - lost);
  }
}

}  // namespace dra::placement
