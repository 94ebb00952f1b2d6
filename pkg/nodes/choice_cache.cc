#include "pkg/nodes/choice_cache.h"

#include <algorithm>
#include <utility>

#include "pkg/placement/decide.h"

namespace dra::nodes {

using placement::Cluster;
using placement::Decision;
using placement::DecisionOptions;
using placement::NodeIndex;
using placement::NodeRefusal;
using placement::PodNeeds;
using placement::RankedNode;

namespace {

constexpr uint32_t kNoPlace = UINT32_MAX;
constexpr int64_t kRefused = -1;  // scores are not negative

bool is_local(const Cluster& cluster, const PodNeeds& needs) {
  const api::Pod& pod = needs.pod();
  if (!pod.node_name.empty() || cluster.has_soft_taints()) return false;
  if (pod.node_affinity && !pod.node_affinity->preferred.empty()) return false;
  if (placement::is_spread_by_default(cluster, pod)) return false;
  const api::ObjectMeta& metadata = pod.metadata;
  return cluster.terms().audience(metadata.ns, cluster.namespace_labels(metadata.ns), metadata.labels).terms == 0;
}

template <class T>
void move_one(std::vector<T>& list, size_t from, size_t to) {
  if (list.empty()) return;
  const T moved = list[from];
  const auto at = [&](size_t i) { return list.begin() + static_cast<std::ptrdiff_t>(i); };
  if (from < to)
    std::move(at(from + 1), at(to + 1), at(from));
  else
    std::move_backward(at(to), at(from), at(from + 1));
  list[to] = moved;
}

template <class T>
void erase_at(std::vector<T>& list, size_t i) {
  if (!list.empty()) list.erase(list.begin() + static_cast<std::ptrdiff_t>(i));
}

allocator::NodeFacts facts_of(const Cluster& cluster, const RankedNode& node) {
  const placement::NodeRow& row = cluster.row(node.node);
  return {row.cpu - row.used_cpu, node.preferred};
}

}  // namespace

const ChoiceCache::Kept* ChoiceCache::of(const Cluster& cluster, const PodNeeds& needs, std::string shape,
                                         placement::NodeNumbers* numbers) {
  if (!is_local(cluster, needs)) return nullptr;
  Entry& entry = entry_of(std::move(shape));
  entry.used = ++uses_;
  const bool fresh =
      !entry.own || entry.nodes_version != cluster.nodes_version() || entry.seen < cluster.first_change();
  entry.decision.reset();
  if ((fresh || !update(cluster, needs, numbers, entry)) && !build(cluster, needs, numbers, entry)) {
    entry.own.reset();
    return nullptr;
  }
  entry.decision = entry.own;
  entry.seen = cluster.changes();
  entry.choice.cpu_milli = needs.charge().cpu;
  entry.choice.depends_on_pods = false;
  entry.choice.depends_on_capacity = entry.refused_for_capacity > 0;
  return &entry;
}

ChoiceCache::Entry& ChoiceCache::entry_of(std::string shape) {
  const auto known =
      std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) { return entry.shape == shape; });
  if (known != entries_.end()) return *known;
  if (entries_.size() >= kMaxShapes)
    entries_.erase(std::min_element(entries_.begin(), entries_.end(),
                                    [](const Entry& a, const Entry& b) { return a.used < b.used; }));
  Entry& added = entries_.emplace_back();
  added.shape = std::move(shape);
  return added;
}

bool ChoiceCache::build(const Cluster& cluster, const PodNeeds& needs, placement::NodeNumbers* numbers, Entry& entry) {
  entry.own = std::make_shared<Decision>(placement::decide(cluster, needs));
  const Decision& decision = *entry.own;
  if (decision.error || decision.pod_refused_by != placement::Plugin::kNone || decision.narrowed_by_name ||
      decision.depends_on_pods())
    return false;
  entry.nodes_version = cluster.nodes_version();
  entry.choice = {};
  entry.refused_for_capacity = 0;
  entry.place.assign(cluster.slots(), kNoPlace);
  entry.score.assign(decision.candidates.size(), kRefused);
  for (uint32_t i = 0; i < decision.candidates.size(); ++i) {
    entry.place[decision.candidates[i]] = i;
    entry.refused_for_capacity += placement::depends_on_capacity(decision.verdicts[i].plugin);
  }
  NodeChoice& choice = entry.choice;
  choice.nodes.reserve(decision.nodes.size());
  choice.facts.reserve(decision.nodes.size());
  for (const RankedNode& node : decision.nodes) {
    entry.score[entry.place[node.node]] = node.score;
    choice.nodes.push_back(cluster.rest(node.node).name);
    choice.facts.push_back(facts_of(cluster, node));
    if (numbers) choice.numbers.push_back(numbers->of(node.node));
  }
  return true;
}

bool ChoiceCache::update(const Cluster& cluster, const PodNeeds& needs, placement::NodeNumbers* numbers, Entry& entry) {
  std::vector<NodeIndex> changed;
  for (uint64_t n = entry.seen; n < cluster.changes(); ++n)
    if (const NodeIndex node = cluster.change(n); node < entry.place.size() && entry.place[node] != kNoPlace)
      changed.push_back(node);
  if (changed.empty()) return true;
  std::sort(changed.begin(), changed.end());
  changed.erase(std::unique(changed.begin(), changed.end()), changed.end());
  if (changed.size() > entry.own->candidates.size() / 4) return false;
  DecisionOptions options;
  options.only = &changed;
  const Decision news = placement::decide(cluster, needs, options);
  if (news.error || news.pod_refused_by != placement::Plugin::kNone || news.candidates.size() != changed.size())
    return false;
  if (entry.own.use_count() > 1) entry.own = std::make_shared<Decision>(*entry.own);  // somebody reads it
  for (size_t i = 0; i < changed.size(); ++i) {
    const auto ranked = std::find_if(news.nodes.begin(), news.nodes.end(),
                                     [&](const RankedNode& node) { return node.node == changed[i]; });
    judge(cluster, numbers, entry, changed[i], news.verdicts[i], ranked == news.nodes.end() ? nullptr : &*ranked);
  }
  return true;
}

void ChoiceCache::judge(const Cluster& cluster, placement::NodeNumbers* numbers, Entry& entry, NodeIndex node,
                        const NodeRefusal& verdict, const RankedNode* ranked) {
  Decision& decision = *entry.own;
  NodeChoice& choice = entry.choice;
  const uint32_t place = entry.place[node];
  // The order of decide(): highest score first, then by place.
  const auto find = [&](int64_t score) {
    const auto before = [&](const RankedNode& one, const std::pair<int64_t, uint32_t>& wanted) {
      return one.score != wanted.first ? one.score > wanted.first : entry.place[one.node] < wanted.second;
    };
    return static_cast<size_t>(
        std::lower_bound(decision.nodes.begin(), decision.nodes.end(), std::pair(score, place), before) -
        decision.nodes.begin());
  };
  entry.refused_for_capacity -= placement::depends_on_capacity(decision.verdicts[place].plugin);
  entry.refused_for_capacity += placement::depends_on_capacity(verdict.plugin);
  decision.verdicts[place] = verdict;
  const int64_t before = std::exchange(entry.score[place], ranked ? ranked->score : kRefused);
  const size_t from = before == kRefused ? decision.nodes.size() : find(before);
  if (!ranked) {
    if (before == kRefused) return;
    erase_at(decision.nodes, from);
    erase_at(choice.nodes, from);
    erase_at(choice.facts, from);
    erase_at(choice.numbers, from);
    return;
  }
  if (before == kRefused) {
    decision.nodes.push_back(*ranked);
    choice.nodes.push_back(cluster.rest(node).name);
    choice.facts.push_back({});
    if (numbers) choice.numbers.push_back(numbers->of(node));
  }
  // Moves it to its place; the others are in order.
  size_t to = from;
  if (before == kRefused || before != ranked->score) {
    const RankedNode last = decision.nodes[from];
    erase_at(decision.nodes, from);
    to = find(ranked->score);
    decision.nodes.insert(decision.nodes.begin() + static_cast<std::ptrdiff_t>(to), last);
  }
  decision.nodes[to] = *ranked;
  move_one(choice.nodes, from, to);
  move_one(choice.facts, from, to);
  move_one(choice.numbers, from, to);
  choice.facts[to] = facts_of(cluster, *ranked);
}

}  // namespace dra::nodes
