// InterPodAffinity: required terms of the pod, required anti-affinity of the pods on nodes, and the score of preferred
// terms of both.
#include <algorithm>

#include "pkg/placement/plugins.h"
#include "pkg/placement/plugins/domains.h"

namespace dra::placement {

const Words kInterPodAffinityWords = {"node(s) didn't match pod affinity rules",
                                      "node(s) didn't match pod anti-affinity rules",
                                      "node(s) didn't satisfy existing pods anti-affinity rules"};
namespace {

enum AffinityReason : unsigned { kAffinityRules, kAntiAffinityRules, kExistingAntiAffinity };
constexpr int64_t kInterPodAffinityWeight = 2;

PodQuery query_of(const Cluster& cluster, const std::vector<const AffinityTerm*>& terms) {
  PodQuery query;
  for (const AffinityTerm* term : terms) query.parts.push_back({namespaces_of(cluster, *term), term->selector});
  return query;
}

// The required affinity terms; counts the pods that match every term.
class RequiredAffinity {
 public:
  explicit RequiredAffinity(const Attempt& attempt) : terms_(attempt.needs.affinity()), domains_(attempt.cluster) {
    if (terms_.empty()) return;
    std::vector<const AffinityTerm*> all;
    for (const AffinityTerm& term : terms_) all.push_back(&term);
    const PodQuery query = query_of(attempt.cluster, all);
    const PodCounts::PerNode& pods = attempt.cluster.matching(query);
    bool counted = false;
    for (const AffinityTerm& term : terms_) {
      Domains& domains = domains_.of(term.topology_key);
      of_term_.push_back(&domains);
      for (const auto& [node, count] : pods) {
        counted = counted || domains.has(node);
        domains.add(node, count.all());
      }
    }
    // A pod with unknown labels might be the first.
    for (const auto& [node, count] : attempt.cluster.unknown(query))
      for (const Domains* domains : of_term_) counted = counted || domains->has(node);
    first_of_its_kind_ = !counted && query.matches(attempt.pod().metadata.ns, attempt.pod().metadata.labels);
  }

  bool allows(NodeIndex node) const {
    bool satisfied = true;
    for (const Domains* domains : of_term_) {
      if (!domains->has(node)) return false;
      satisfied = satisfied && domains->sum_of(node) > 0;
    }
    return satisfied || first_of_its_kind_;
  }

 private:
  const std::vector<AffinityTerm>& terms_;
  DomainsByKey domains_;
  std::vector<const Domains*> of_term_;
  // A pod with affinity to pods like itself may be the first of them.
  bool first_of_its_kind_ = false;
};

bool occupied(const DomainsByKey& domains, NodeIndex node) {
  return std::any_of(domains.all().begin(), domains.all().end(),
                     [&](const Domains& one) { return one.has(node) && one.sum_of(node) > 0; });
}

}  // namespace

NamespaceSet namespaces_of(const Cluster& cluster, const AffinityTerm& term) {
  // kube-scheduler resolves the namespace selector to names, but also tries it on an empty set of labels: a selector
  // that only excludes labels selects every namespace.
  if (term.namespace_selector.matches({})) return {true, {}};
  NamespaceSet out{false, term.namespaces};
  if (term.namespace_selector.matches_nothing()) return out;
  for (const auto& [name, labels] : cluster.namespaces())
    if (term.namespace_selector.matches(labels)) out.names.push_back(name);
  std::sort(out.names.begin(), out.names.end());
  out.names.erase(std::unique(out.names.begin(), out.names.end()), out.names.end());
  return out;
}

void filter_inter_pod_affinity(Attempt& attempt) {
  const Cluster& cluster = attempt.cluster;
  const api::ObjectMeta& pod = attempt.pod().metadata;
  DomainsByKey anti(cluster), existing(cluster);
  for (const AffinityTerm& term : attempt.needs.anti_affinity()) {
    Domains& domains = anti.of(term.topology_key);
    const PodQuery query = query_of(cluster, {&term});
    for (const auto& [node, count] : cluster.matching(query)) domains.add(node, count.all());
    // Pods with unknown labels count as if they matched, which whoever creates them could have with other labels too.
    for (const auto& [node, count] : cluster.unknown(query)) domains.add(node, count.all());
  }
  for (const auto& [key, on_nodes] :
       cluster.terms().audience(pod.ns, cluster.namespace_labels(pod.ns), pod.labels).on_nodes)
    for (const auto& [node, totals] : on_nodes)
      if (totals.anti > 0) existing.of(key).add(node, totals.anti);
  const bool wanted = !attempt.needs.affinity().empty() || !attempt.needs.anti_affinity().empty();
  if (!wanted && existing.all().empty()) return;
  const RequiredAffinity affinity(attempt);
  attempt.filter([&](NodeIndex node) {
    if (!affinity.allows(node)) return refuse(Plugin::kInterPodAffinity, true, kAffinityRules);
    if (occupied(anti, node)) return refuse(Plugin::kInterPodAffinity, false, kAntiAffinityRules);
    if (occupied(existing, node)) return refuse(Plugin::kInterPodAffinity, false, kExistingAntiAffinity);
    return NodeRefusal{};
  });
}

void score_inter_pod_affinity(const Attempt& attempt, Scores& scores) {
  const Cluster& cluster = attempt.cluster;
  const api::Pod& pod = attempt.pod();
  DomainsByKey domains(cluster);
  const auto add_preferred = [&](const std::vector<api::WeightedPodAffinityTerm>& terms, int64_t sign) {
    for (const api::WeightedPodAffinityTerm& weighted : terms) {
      const AffinityTerm term = AffinityTerm::of(weighted.term, pod.metadata.ns);
      Domains& of_key = domains.of(term.topology_key);
      for (const auto& [node, count] : cluster.matching(query_of(cluster, {&term})))
        of_key.add(node, sign * weighted.weight * count.all());
    }
  };
  add_preferred(pod.pod_affinity.preferred, 1);
  add_preferred(pod.pod_anti_affinity.preferred, -1);
  const api::StringMap& ns_labels = cluster.namespace_labels(pod.metadata.ns);
  for (const auto& [key, on_nodes] : cluster.terms().audience(pod.metadata.ns, ns_labels, pod.metadata.labels).on_nodes)
    for (const auto& [node, totals] : on_nodes)
      if (totals.weight != 0) domains.of(key).add(node, totals.weight);
  if (domains.all().empty() || scores.nodes.empty()) return;
  std::vector<int64_t> raw(scores.nodes.size());
  for (size_t i = 0; i < raw.size(); ++i)
    for (const Domains& one : domains.all())
      if (one.has(scores.nodes[i])) raw[i] += one.sum_of(scores.nodes[i]);
  const auto [least, most] = std::minmax_element(raw.begin(), raw.end());
  const int64_t low = *least, range = *most - *least;
  if (range == 0) return;
  for (size_t i = 0; i < raw.size(); ++i) {
    const double share = static_cast<double>(raw[i] - low) / static_cast<double>(range);
    scores.totals[i] += kInterPodAffinityWeight * static_cast<int64_t>(static_cast<double>(kMaxPluginScore) * share);
  }
}

}  // namespace dra::placement
