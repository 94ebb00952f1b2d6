// NodeAffinity.
#include <algorithm>
#include <set>

#include "pkg/api/selectors.h"
#include "pkg/placement/plugins.h"

namespace dra::placement {
namespace {

constexpr int64_t kNodeAffinityWeight = 2;

// The names that a term allows by metadata.name In; nothing when it has no such field.
std::optional<std::set<std::string>> names_of(const api::NodeSelectorTerm& term) {
  std::optional<std::set<std::string>> out;
  for (const api::NodeSelectorRequirement& field : term.match_fields) {
    if (field.key != "metadata.name" || field.op != "In") continue;
    const std::set<std::string> listed(field.values.begin(), field.values.end());
    if (!out)
      out = listed;
    else
      std::erase_if(*out, [&](const std::string& name) { return !listed.contains(name); });
  }
  return out;
}

}  // namespace

void prefilter_node_affinity(Attempt& attempt) {
  const api::Pod& pod = attempt.pod();
  if (!pod.node_affinity || !pod.node_affinity->required || pod.node_affinity->required->terms.empty()) return;
  std::set<std::string> names;
  for (const api::NodeSelectorTerm& term : pod.node_affinity->required->terms) {
    const std::optional<std::set<std::string>> allowed = names_of(term);
    if (!allowed) return;
    names.insert(allowed->begin(), allowed->end());
  }
  if (names.empty()) return attempt.refuse_pod(Plugin::kNodeAffinity, "pod affinity terms conflict");
  Decision& decision = attempt.decision;
  decision.narrowed_by_name = true;
  decision.not_named = std::erase_if(decision.candidates,
                                     [&](NodeIndex node) { return !names.contains(attempt.cluster.rest(node).name); });
  decision.verdicts.resize(decision.candidates.size());
}

void filter_node_affinity(Attempt& attempt) {
  const api::Pod& pod = attempt.pod();
  if (pod.node_selector.empty() && (!pod.node_affinity || !pod.node_affinity->required)) return;
  attempt.filter([&](NodeIndex node) {
    return attempt.node_matcher->matches(node) ? NodeRefusal{} : refuse(Plugin::kNodeAffinity, true);
  });
}

void score_node_affinity(const Attempt& attempt, Scores& scores) {
  if (!attempt.pod().node_affinity || attempt.pod().node_affinity->preferred.empty()) return;
  std::vector<int64_t> sums(scores.nodes.size());
  for (const api::PreferredSchedulingTerm& term : attempt.pod().node_affinity->preferred) {
    if (term.weight == 0) continue;
    const TermMatcher matcher(attempt.cluster, term.preference);
    for (size_t i = 0; i < sums.size(); ++i)
      if (matcher.matches(scores.nodes[i])) sums[i] += term.weight;
  }
  const int64_t most = sums.empty() ? 0 : *std::max_element(sums.begin(), sums.end());
  if (most == 0) return;
  for (size_t i = 0; i < sums.size(); ++i) scores.totals[i] += kNodeAffinityWeight * (kMaxPluginScore * sums[i] / most);
}

}  // namespace dra::placement
