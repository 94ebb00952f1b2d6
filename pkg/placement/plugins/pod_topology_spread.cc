// PodTopologySpread: hard constraints filter; the others, or the default constraints, score.
#include <algorithm>
#include <cmath>
#include <limits>

#include "pkg/api/pod_bounds.h"
#include "pkg/placement/plugins.h"
#include "pkg/placement/plugins/domains.h"
#include "pkg/placement/plugins/taints.h"

namespace dra::placement {

const Words kTopologySpreadWords = {"node(s) didn't match pod topology spread constraints (missing required label)",
                                    "node(s) didn't match pod topology spread constraints"};
namespace {

enum SpreadReason : unsigned { kMissingLabel, kSkew };
constexpr int64_t kSpreadWeight = 2;
constexpr std::string_view kHostname = "kubernetes.io/hostname";

struct SpreadRule {
  int32_t max_skew = 1;
  std::string key;
  Selector selector;
  int32_t min_domains = 1;
  bool honors_affinity = true;
  bool honors_taints = false;
};

std::vector<SpreadRule> rules_of(const api::Pod& pod, std::string_view action) {
  std::vector<SpreadRule> out;
  for (const api::TopologySpreadConstraint& constraint : pod.topology_spread) {
    if (constraint.when_unsatisfiable != action) continue;
    SpreadRule rule{constraint.max_skew,
                    constraint.topology_key,
                    Selector(constraint.label_selector),
                    constraint.min_domains.value_or(1),
                    constraint.node_affinity_policy != "Ignore",
                    constraint.node_taints_policy == "Honor"};
    for (const std::string& key : constraint.match_label_keys)
      if (const auto label = pod.metadata.labels.find(key); label != pod.metadata.labels.end())
        rule.selector.require({key, "In", {label->second}});
    out.push_back(std::move(rule));
  }
  return out;
}

// The selector of the pod's services and controller.
Selector default_selector(const WorkloadFacts& workloads, const api::ObjectMeta& pod) {
  Selector out = Selector::everything();
  for (const auto& [key, service] : workloads.services) {
    if (service->metadata.ns != pod.ns || service->selector.empty()) continue;
    if (!Selector(api::LabelSelector{service->selector, {}}).matches(pod.labels)) continue;
    for (const auto& [name, value] : service->selector) out.require({name, "In", {value}});
  }
  const api::OwnerReference* owner = pod.controller();
  if (!owner) return out;
  const std::string key = pod.ns + "/" + owner->name;
  const auto require_all = [&](const std::optional<api::LabelSelector>& selector) {
    if (!selector) return;
    for (const auto& [name, value] : selector->match_labels) out.require({name, "In", {value}});
    for (const api::LabelSelectorRequirement& r : selector->match_expressions) out.require(r);
  };
  if (owner->api_version == "apps/v1" && owner->kind == "ReplicaSet") {
    if (const auto* found = workloads.replica_sets.find(key)) require_all(found->selector);
  } else if (owner->api_version == "apps/v1" && owner->kind == "StatefulSet") {
    if (const auto* found = workloads.stateful_sets.find(key)) require_all(found->selector);
  } else if (owner->api_version == "v1" && owner->kind == "ReplicationController") {
    if (const auto* found = workloads.replication_controllers.find(key))
      require_all(api::LabelSelector{found->selector, {}});
  }
  return out;
}

std::vector<SpreadRule> default_rules(const WorkloadFacts& workloads, const api::ObjectMeta& pod) {
  const Selector selector = default_selector(workloads, pod);
  if (selector.matches_everything()) return {};
  return {{3, std::string(kHostname), selector}, {5, "topology.kubernetes.io/zone", selector}};
}

bool counts_pods(const SpreadRule& rule) {
  return !rule.selector.matches_everything() && !rule.selector.matches_nothing();
}

PodQuery query_of(const Attempt& attempt, const SpreadRule& rule) {
  PodQuery query;
  query.parts.push_back({{false, {attempt.pod().metadata.ns}}, rule.selector});
  return query;
}

// The pods of the namespace that a rule counts, by node. An empty selector counts none.
const PodCounts::PerNode& counted_pods(const Attempt& attempt, const SpreadRule& rule) {
  static const PodCounts::PerNode kNone;
  return counts_pods(rule) ? attempt.cluster.matching(query_of(attempt, rule)) : kNone;
}

// With one pod more or less in a domain, a rule may allow other nodes: neither guess is safe.
std::string undecided(const Attempt& attempt, const std::vector<SpreadRule>& rules) {
  int64_t pods = 0;
  for (const SpreadRule& rule : rules) {
    if (!counts_pods(rule)) continue;
    for (const auto& [node, count] : attempt.cluster.unknown(query_of(attempt, rule))) pods += count.running;
    if (pods > 0) break;
  }
  if (pods == 0) return "";
  return "pod topology spread constraints cannot be decided: " + std::to_string(pods) +
         " pod(s) of the namespace have " + "more labels than are checked (" + std::to_string(api::kMaxLabels) +
         ", or " + std::to_string(api::kMaxLabelBytes >> 10) + " KiB)";
}

// The nodes that a rule counts: those that its policies include.
class Included {
 public:
  explicit Included(const Attempt& attempt)
      : attempt_(attempt), taints_(attempt.cluster, attempt.pod(), TaintCounts::Effects::kHard) {}
  bool operator()(const SpreadRule& rule, NodeIndex node) {
    return (!rule.honors_affinity || attempt_.node_matcher->matches(node)) &&
           (!rule.honors_taints || taints_.untolerated(node) == 0);
  }

 private:
  const Attempt& attempt_;
  TaintCounts taints_;
};

bool has_all_keys(const std::vector<Domains>& domains, NodeIndex node) {
  return std::all_of(domains.begin(), domains.end(), [&](const Domains& one) { return one.has(node); });
}

std::vector<Domains> domains_of(const Attempt& attempt, const std::vector<SpreadRule>& rules) {
  std::vector<Domains> out;
  for (const SpreadRule& rule : rules) out.emplace_back(attempt.cluster, rule.key);
  return out;
}

// The number of pods in the emptiest domain; 0 when there are fewer domains than the rule requires.
int64_t least_sum(const Domains& domains, const std::vector<uint8_t>& exists, int32_t min_domains) {
  int64_t least = std::numeric_limits<int64_t>::max();
  int64_t number = 0;
  for (size_t i = 1; i < exists.size(); ++i) {
    if (!exists[i]) continue;
    ++number;
    least = std::min(least, domains.sums[i]);
  }
  return number == 0 || number < min_domains ? 0 : least;
}

}  // namespace

void prefilter_topology_spread(Attempt& attempt) {
  std::string why = undecided(attempt, rules_of(attempt.pod(), "DoNotSchedule"));
  if (!why.empty()) attempt.refuse_pod(Plugin::kPodTopologySpread, std::move(why));
}

void filter_topology_spread(Attempt& attempt) {
  const std::vector<SpreadRule> rules = rules_of(attempt.pod(), "DoNotSchedule");
  if (rules.empty()) return;
  std::vector<Domains> domains = domains_of(attempt, rules);
  std::vector<int64_t> allowed(rules.size());  // the most pods a domain may have before this one
  Included included(attempt);
  std::vector<uint8_t> counts(attempt.cluster.slots());
  for (size_t i = 0; i < rules.size(); ++i) {
    const SpreadRule& rule = rules[i];
    std::vector<uint8_t> exists(domains[i].sums.size());
    std::fill(counts.begin(), counts.end(), 0);
    for (const NodeIndex node : attempt.cluster.nodes()) {
      if (!has_all_keys(domains, node) || !included(rule, node)) continue;
      counts[node] = 1;
      exists[domains[i].domain_of(node)] = 1;
    }
    for (const auto& [node, count] : counted_pods(attempt, rule))
      if (counts[node]) domains[i].add(node, count.running);
    const int64_t self = rule.selector.matches(attempt.pod().metadata.labels) ? 1 : 0;
    allowed[i] = rule.max_skew + least_sum(domains[i], exists, rule.min_domains) - self;
  }
  attempt.filter([&](NodeIndex node) {
    for (size_t i = 0; i < rules.size(); ++i) {
      if (!domains[i].has(node)) return refuse(Plugin::kPodTopologySpread, true, kMissingLabel);
      if (domains[i].sum_of(node) > allowed[i]) return refuse(Plugin::kPodTopologySpread, false, kSkew);
    }
    return NodeRefusal{};
  });
}

namespace {

// The score of one rule, added to each node: pods in its domain, weighted by the number of domains.
class SoftRule {
 public:
  SoftRule(const Attempt& attempt, const SpreadRule& rule, Domains& domains)
      : rule_(rule), domains_(domains), by_node_(rule.key == kHostname), exists_(domains.sums.size()) {
    if (by_node_) on_node_.resize(attempt.cluster.slots());
  }

  void add_feasible(NodeIndex node) {
    uint8_t& seen = exists_[domains_.domain_of(node)];
    if (by_node_ || !seen) ++size_;
    seen = 1;
  }
  // After all feasible nodes. `counts(node)`: the node counts for this rule.
  template <class F>
  void add_pods(const PodCounts::PerNode& pods, F&& counts) {
    for (const auto& [node, count] : pods) {
      if (by_node_)
        on_node_[node] += count.running;
      else if (exists_[domains_.domain_of(node)] && counts(node))
        domains_.sums[domains_.domain_of(node)] += count.running;
    }
  }
  double score(NodeIndex node) const {
    if (!domains_.has(node)) return 0;
    const int64_t pods = by_node_ ? on_node_[node] : domains_.sum_of(node);
    return static_cast<double>(pods) * std::log(static_cast<double>(size_ + 2)) + (rule_.max_skew - 1);
  }

 private:
  const SpreadRule& rule_;
  Domains& domains_;
  bool by_node_;
  size_t size_ = 0;
  std::vector<uint8_t> exists_;
  std::vector<int64_t> on_node_;
};

void add_spread_scores(const std::vector<int64_t>& raw, const std::vector<uint8_t>& ignored, Scores& scores) {
  int64_t low = std::numeric_limits<int64_t>::max(), high = 0;
  for (size_t i = 0; i < raw.size(); ++i) {
    if (ignored[i]) continue;
    low = std::min(low, raw[i]);
    high = std::max(high, raw[i]);
  }
  for (size_t i = 0; i < raw.size(); ++i) {
    if (ignored[i]) continue;
    const int64_t share = high == 0 ? kMaxPluginScore : kMaxPluginScore * (high + low - raw[i]) / high;
    scores.totals[i] += kSpreadWeight * share;
  }
}

}  // namespace

bool is_spread_by_default(const Cluster& cluster, const api::Pod& pod) {
  return pod.topology_spread.empty() && !default_rules(cluster.workloads, pod.metadata).empty();
}

void score_topology_spread(const Attempt& attempt, Scores& scores) {
  const api::Pod& pod = attempt.pod();
  const bool own = !pod.topology_spread.empty();
  const std::vector<SpreadRule> rules =
      own ? rules_of(pod, "ScheduleAnyway") : default_rules(attempt.cluster.workloads, pod.metadata);
  if (rules.empty()) return;
  std::vector<Domains> domains = domains_of(attempt, rules);
  std::vector<SoftRule> soft;
  for (size_t i = 0; i < rules.size(); ++i) soft.emplace_back(attempt, rules[i], domains[i]);
  std::vector<uint8_t> ignored(scores.nodes.size());
  for (size_t i = 0; i < scores.nodes.size(); ++i) {
    ignored[i] = own && !has_all_keys(domains, scores.nodes[i]);
    if (ignored[i]) continue;
    for (SoftRule& rule : soft) rule.add_feasible(scores.nodes[i]);
  }
  Included included(attempt);
  for (size_t i = 0; i < rules.size(); ++i)
    soft[i].add_pods(counted_pods(attempt, rules[i]), [&](NodeIndex node) {
      return attempt.cluster.row(node).known && (!own || has_all_keys(domains, node)) && included(rules[i], node);
    });
  std::vector<int64_t> raw(scores.nodes.size());
  for (size_t i = 0; i < raw.size(); ++i) {
    if (ignored[i]) continue;
    double sum = 0;
    for (const SoftRule& rule : soft) sum += rule.score(scores.nodes[i]);
    raw[i] = std::llround(sum);
  }
  add_spread_scores(raw, ignored, scores);
}

}  // namespace dra::placement
