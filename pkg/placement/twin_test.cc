// Compares the facts that a Cluster keeps up to date with two slow twins: a Cluster rebuilt from all objects, for
// everything, and, for the filters that count pods, a reading of the rules that walks over all pods.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "pkg/api/selectors.h"
#include "pkg/base/clock.h"
#include "pkg/base/random.h"
#include "pkg/placement/decide.h"
#include "pkg/placement/decision.h"

namespace dra::placement::twin_test {
namespace {

struct World {
  std::map<std::string, std::shared_ptr<const api::Node>> nodes;
  std::map<std::string, api::Pod> pods;  // by uid
  std::map<std::string, api::StringMap> namespaces;
};

// ---- the obvious filters

bool selects(const std::optional<api::LabelSelector>& selector, const api::StringMap& labels) {
  return selector && api::matches(*selector, labels);
}

// `pending`: the namespace selector of the owner's term is also tried on an empty set of labels.
bool term_means(const World& world, const api::PodAffinityTerm& term, const api::Pod& owner, const api::Pod& other,
                bool pending) {
  const std::string& ns = other.metadata.ns;
  bool in_namespace = std::find(term.namespaces.begin(), term.namespaces.end(), ns) != term.namespaces.end();
  if (term.namespaces.empty() && !term.namespace_selector) in_namespace = ns == owner.metadata.ns;
  const auto known = world.namespaces.find(ns);
  const api::StringMap labels = known == world.namespaces.end() ? api::StringMap{} : known->second;
  if (pending) {
    in_namespace = in_namespace || selects(term.namespace_selector, {}) ||
                   (known != world.namespaces.end() && selects(term.namespace_selector, labels));
  } else {
    in_namespace = in_namespace || selects(term.namespace_selector, labels);
  }
  return in_namespace && selects(term.label_selector, other.metadata.labels);
}

const std::string* label(const api::Node& node, const std::string& key) {
  const auto found = node.metadata.labels.find(key);
  return found == node.metadata.labels.end() ? nullptr : &found->second;
}

// Every pod on a known node.
template <class F>
void each_placed(const World& world, F&& f) {
  for (const auto& [uid, pod] : world.pods) {
    const auto node = world.nodes.find(pod.node_name);
    if (node != world.nodes.end()) f(pod, *node->second);
  }
}

bool same_domain(const api::Node& a, const api::Node& b, const std::string& key) {
  const std::string *left = label(a, key), *right = label(b, key);
  return left && right && *left == *right;
}

bool affinity_ok(const World& world, const api::Pod& pod, const api::Node& node) {
  const auto& terms = pod.pod_affinity.required;
  const auto means_all = [&](const api::Pod& other) {
    return std::all_of(terms.begin(), terms.end(),
                       [&](const auto& term) { return term_means(world, term, pod, other, true); });
  };
  bool any = false, all_here = true;
  for (const api::PodAffinityTerm& term : terms) {
    if (!label(node, term.topology_key)) return false;
    bool here = false;
    each_placed(world, [&](const api::Pod& other, const api::Node& at) {
      if (!means_all(other) || !label(at, term.topology_key)) return;
      any = true;
      here = here || same_domain(node, at, term.topology_key);
    });
    all_here = all_here && here;
  }
  return all_here || (!any && means_all(pod));
}

bool anti_affinity_ok(const World& world, const api::Pod& pod, const api::Node& node) {
  bool ok = true;
  for (const api::PodAffinityTerm& term : pod.pod_anti_affinity.required)
    each_placed(world, [&](const api::Pod& other, const api::Node& at) {
      if (term_means(world, term, pod, other, true) && same_domain(node, at, term.topology_key)) ok = false;
    });
  return ok;
}

bool existing_anti_affinity_ok(const World& world, const api::Pod& pod, const api::Node& node) {
  bool ok = true;
  each_placed(world, [&](const api::Pod& other, const api::Node& at) {
    for (const api::PodAffinityTerm& term : other.pod_anti_affinity.required)
      if (term_means(world, term, other, pod, false) && same_domain(node, at, term.topology_key)) ok = false;
  });
  return ok;
}

bool spread_includes(const api::Pod& pod, const api::TopologySpreadConstraint& rule, const api::Node& node) {
  for (const api::TopologySpreadConstraint& other : pod.topology_spread)
    if (other.when_unsatisfiable == "DoNotSchedule" && !label(node, other.topology_key)) return false;
  if (rule.node_affinity_policy != "Ignore" && !api::has_labels(pod.node_selector, node.metadata.labels)) return false;
  if (rule.node_taints_policy != "Honor") return true;
  return std::none_of(node.taints.begin(), node.taints.end(), [&](const api::Taint& taint) {
    return taint.effect != "PreferNoSchedule" &&
           std::none_of(pod.tolerations.begin(), pod.tolerations.end(),
                        [&](const auto& toleration) { return api::tolerates(toleration, taint); });
  });
}

bool spread_ok(const World& world, const api::Pod& pod, const api::Node& node) {
  for (const api::TopologySpreadConstraint& rule : pod.topology_spread) {
    if (rule.when_unsatisfiable != "DoNotSchedule") continue;
    const std::string* here = label(node, rule.topology_key);
    if (!here) return false;
    std::map<std::string, int> domains;
    for (const auto& [name, other] : world.nodes)
      if (spread_includes(pod, rule, *other)) domains[*label(*other, rule.topology_key)];
    const bool empty = rule.label_selector && rule.label_selector->match_labels.empty() &&
                       rule.label_selector->match_expressions.empty();
    each_placed(world, [&](const api::Pod& other, const api::Node& at) {
      if (!empty && spread_includes(pod, rule, at) && !other.metadata.deleting() &&
          other.metadata.ns == pod.metadata.ns && selects(rule.label_selector, other.metadata.labels))
        ++domains[*label(at, rule.topology_key)];
    });
    int least = std::numeric_limits<int>::max();
    for (const auto& [value, count] : domains) least = std::min(least, count);
    if (static_cast<int>(domains.size()) < rule.min_domains.value_or(1)) least = 0;
    const int self = selects(rule.label_selector, pod.metadata.labels) ? 1 : 0;
    const int now = domains.contains(*here) ? domains[*here] : 0;
    if (now + self - least > rule.max_skew) return false;
  }
  return true;
}

bool plain_ok(const World& world, const api::Pod& pod, const api::Node& node) {
  if (!api::has_labels(pod.node_selector, node.metadata.labels) || node.unschedulable) return false;
  int64_t used = 0, pods = 0;
  bool ports = false;
  const Charge needs = *pending_charge(pod);
  each_placed(world, [&](const api::Pod& other, const api::Node& at) {
    if (at.metadata.name != node.metadata.name) return;
    const Charge taking = bound_charge(other);
    used += taking.cpu;
    ++pods;
    for (const api::HostPort& wanted : needs.ports)
      for (const api::HostPort& taken : taking.ports) ports = ports || ports_conflict(wanted, taken);
  });
  // As NodeResourcesFit: a pod that requests no CPU fits a node that has given more than it has.
  if (ports || pods + 1 > 20 || (needs.cpu > 0 && used + needs.cpu > 8000)) return false;
  return std::none_of(node.taints.begin(), node.taints.end(), [&](const api::Taint& taint) {
    return taint.effect != "PreferNoSchedule" &&
           std::none_of(pod.tolerations.begin(), pod.tolerations.end(),
                        [&](const auto& toleration) { return api::tolerates(toleration, taint); });
  });
}

std::set<std::string> obviously_feasible(const World& world, const api::Pod& pod) {
  std::set<std::string> out;
  for (const auto& [name, node] : world.nodes)
    if (plain_ok(world, pod, *node) && spread_ok(world, pod, *node) && affinity_ok(world, pod, *node) &&
        anti_affinity_ok(world, pod, *node) && existing_anti_affinity_ok(world, pod, *node))
      out.insert(name);
  return out;
}

// ---- random objects

class Dice {
 public:
  explicit Dice(uint64_t seed) : random_(seed) {}
  size_t below(size_t bound) { return random_.below(bound); }
  bool one_in(size_t n) { return below(n) == 0; }
  std::string letter(size_t of) { return std::string(1, static_cast<char>('a' + below(of))); }

  std::optional<api::LabelSelector> selector() {
    if (one_in(12)) return std::nullopt;
    api::LabelSelector out;
    if (!one_in(6)) out.match_labels["app"] = letter(3);
    if (one_in(3)) out.match_expressions.push_back({"tier", one_in(2) ? "NotIn" : "In", {letter(2), letter(2)}});
    if (one_in(8)) out.match_expressions.push_back({"app", one_in(2) ? "Exists" : "DoesNotExist", {}});
    return out;
  }
  std::string key() { return one_in(3) ? "host" : "zone"; }
  api::PodAffinityTerm term() {
    api::PodAffinityTerm out{selector(), {}, std::nullopt, key()};
    if (one_in(5)) out.namespaces = {letter(3)};
    if (one_in(5)) out.namespace_selector = api::LabelSelector{{{"team", letter(2)}}, {}};
    if (one_in(12)) out.namespace_selector = api::LabelSelector{{}, {{"team", "NotIn", {letter(2)}}}};
    return out;
  }
  api::Pod pod(const std::string& uid) {
    api::Pod out;
    out.metadata.uid = out.metadata.name = uid;
    out.metadata.ns = letter(3);
    if (!one_in(6)) out.metadata.labels["app"] = letter(3);
    if (one_in(2)) out.metadata.labels["tier"] = letter(2);
    api::Container container;
    container.requests["cpu"] = std::to_string(below(4) * 500) + "m";
    if (one_in(6)) container.host_ports.push_back({static_cast<uint16_t>(80 + below(2)), one_in(2) ? "" : "UDP", ""});
    out.containers.push_back(container);
    if (one_in(3)) out.pod_affinity.required.push_back(term());
    if (one_in(8)) out.pod_affinity.required.push_back(term());
    if (one_in(3)) out.pod_anti_affinity.required.push_back(term());
    if (one_in(4)) out.pod_affinity.preferred.push_back({static_cast<int32_t>(1 + below(100)), term()});
    if (one_in(4)) out.pod_anti_affinity.preferred.push_back({static_cast<int32_t>(1 + below(100)), term()});
    if (one_in(5)) out.node_selector["zone"] = letter(3);
    if (one_in(5)) out.tolerations.push_back({"k", "Exists", "", "", {}});
    return out;
  }
  api::TopologySpreadConstraint constraint() {
    api::TopologySpreadConstraint out;
    out.max_skew = static_cast<int32_t>(1 + below(2));
    out.topology_key = key();
    out.when_unsatisfiable = one_in(4) ? "ScheduleAnyway" : "DoNotSchedule";
    out.label_selector = selector();
    if (one_in(4)) out.min_domains = static_cast<int32_t>(1 + below(4));
    if (one_in(4)) out.node_affinity_policy = "Ignore";
    if (one_in(3)) out.node_taints_policy = "Honor";
    return out;
  }
  api::Pod pending() {
    api::Pod out = pod("pending");
    while (one_in(2) && out.topology_spread.size() < 3) out.topology_spread.push_back(constraint());
    return out;
  }
  std::shared_ptr<const api::Node> node(const std::string& name) {
    auto out = std::make_shared<api::Node>();
    out->metadata.name = name;
    if (!one_in(8)) out->metadata.labels["host"] = name;
    if (!one_in(5)) out->metadata.labels["zone"] = letter(3);
    if (one_in(6)) out->taints.push_back({"k", "", one_in(2) ? "NoSchedule" : "PreferNoSchedule", ""});
    out->unschedulable = one_in(10);
    out->allocatable = {{"cpu", "8"}, {"memory", "16Gi"}, {"pods", "20"}};
    return out;
  }

 private:
  SeededRandom random_;
};

void change(World& world, Cluster& cluster, Dice& dice) {
  const std::string node = "n" + std::to_string(dice.below(8));
  const std::string uid = "u" + std::to_string(dice.below(30));
  switch (dice.below(9)) {
    case 0:
      cluster.set_node(world.nodes[node] = dice.node(node));
      return;
    case 1:
      world.nodes.erase(node);
      cluster.remove_node(node);
      return;
    case 2:
      world.pods.erase(uid);
      cluster.remove_pod(uid);
      return;
    case 3: {
      const std::string ns = dice.letter(3);
      if (dice.one_in(3)) {
        world.namespaces.erase(ns);
        cluster.remove_namespace(ns);
      } else {
        cluster.set_namespace(ns, world.namespaces[ns] = {{"team", dice.letter(2)}});
      }
      return;
    }
    case 4: {  // its deletion begins
      const auto found = world.pods.find(uid);
      if (found == world.pods.end()) return;
      found->second.metadata.deletion_timestamp = "2026-01-01T00:00:00Z";
      cluster.set_pod(found->second, found->second.node_name, false);
      return;
    }
    default: {
      api::Pod pod = dice.pod(uid);
      pod.node_name = node;
      if (dice.one_in(6)) pod.metadata.deletion_timestamp = "2026-01-01T00:00:00Z";
      cluster.set_pod(pod, node, false);
      world.pods[uid] = pod;
    }
  }
}

std::map<std::string, int64_t> scores_of(const Cluster& cluster, const Decision& decision) {
  std::map<std::string, int64_t> out;
  for (const RankedNode& node : decision.nodes) out[cluster.rest(node.node).name] = node.score;
  return out;
}

std::map<std::string, std::pair<int, uint64_t>> verdicts_of(const Cluster& cluster, const Decision& decision) {
  std::map<std::string, std::pair<int, uint64_t>> out;
  for (size_t i = 0; i < decision.candidates.size(); ++i)
    out[cluster.rest(decision.candidates[i]).name] = {static_cast<int>(decision.verdicts[i].plugin),
                                                      decision.verdicts[i].reasons};
  return out;
}

void compare(const World& world, const Cluster& cluster, const api::Pod& pod) {
  Cluster anew;
  for (const auto& [name, node] : world.nodes) anew.set_node(node);
  for (const auto& [name, labels] : world.namespaces) anew.set_namespace(name, labels);
  for (const auto& [uid, resident] : world.pods) anew.set_pod(resident, resident.node_name, false);
  const Result<PodNeeds> needs = PodNeeds::of(pod);
  ASSERT_TRUE(needs) << to_string(needs.error());
  const Decision decision = decide(cluster, *needs), fresh = decide(anew, *needs);
  const auto scores = scores_of(cluster, decision);
  EXPECT_EQ(scores, scores_of(anew, fresh));
  EXPECT_EQ(verdicts_of(cluster, decision), verdicts_of(anew, fresh));
  std::set<std::string> feasible;
  for (const auto& [name, score] : scores) feasible.insert(name);
  EXPECT_EQ(feasible, obviously_feasible(world, pod));
  // A decision about one node alone gives the same answer for it.
  for (const NodeIndex node : cluster.nodes()) {
    const std::vector<NodeIndex> only = {node};
    DecisionOptions options;
    options.only = &only;
    EXPECT_EQ(decide(cluster, *needs, options).nodes.size(), feasible.count(cluster.rest(node).name));
  }
}

TEST(ClusterProperty, RandomHistoriesLeaveNoDrift) {
  const uint64_t seed = entropy_seed();
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  for (uint64_t round = 0; round < 60; ++round) {
    Dice dice(seed + round);
    World world;
    Cluster cluster;
    for (int step = 0; step < 60; ++step) {
      change(world, cluster, dice);
      if (step % 3 == 0) compare(world, cluster, dice.pending());
      ASSERT_FALSE(::testing::Test::HasFailure()) << "seed " << seed << " + " << round << ", step " << step;
    }
    for (const auto& [uid, pod] : world.pods) cluster.remove_pod(uid);
    for (const auto& [name, node] : world.nodes) cluster.remove_node(name);
    EXPECT_EQ(cluster.kept_nodes(), 0u);
    EXPECT_EQ(cluster.kept_label_sets(), 0u);
    EXPECT_EQ(cluster.kept_terms(), 0u);
  }
}

}  // namespace
}  // namespace dra::placement::twin_test
