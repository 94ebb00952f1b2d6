#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

#include "pkg/placement/node_selector.h"
#include "pkg/placement/placement.h"

namespace dra::placement {
namespace {

constexpr int64_t kMaxScore = 100;
constexpr int64_t kAffinityWeight = 2;
constexpr int64_t kTaintWeight = 3;
constexpr int64_t kMaxTotal = (kAffinityWeight + kTaintWeight + 2) * kMaxScore;
constexpr size_t kMaxSummary = 1024;

int64_t preferred_affinity(const api::Pod& pod, const api::Node& node) {
  int64_t sum = 0;
  if (!pod.node_affinity) return 0;
  for (const api::PreferredSchedulingTerm& term : pod.node_affinity->preferred)
    if (term.weight > 0 && matches(term.preference, node.metadata.name, node.metadata.labels)) sum += term.weight;
  return sum;
}

// Only tolerations without effect or for PreferNoSchedule are looked at, by tolerates().
int64_t unwelcome_taints(const api::Pod& pod, const api::Node& node) {
  return std::count_if(node.taints.begin(), node.taints.end(), [&](const api::Taint& taint) {
    return taint.effect == "PreferNoSchedule" &&
           std::none_of(pod.tolerations.begin(), pod.tolerations.end(),
                        [&](const api::Toleration& toleration) { return tolerates(toleration, taint); });
  });
}

// The share of cpu or memory in use with the pod on the node, 0 to 1.
double used_share(int64_t allocatable, int64_t requested, int64_t wanted) {
  if (allocatable <= 0) return 1;
  const double used = static_cast<double>(requested) + static_cast<double>(wanted);
  return std::clamp(used / static_cast<double>(allocatable), 0.0, 1.0);
}

int64_t resource_score(const PodNeeds& needs, const NodeFacts& facts) {
  const Basics &have = facts.basics(), &load = facts.load.basics(), &want = needs.basics();
  const double cpu = used_share(have.cpu, load.cpu, want.cpu);
  const double memory = used_share(have.memory, load.memory, want.memory);
  const double least = (1 - cpu) * kMaxScore / 2 + (1 - memory) * kMaxScore / 2;
  const double balanced = (1 - std::abs(cpu - memory) / 2) * kMaxScore;
  return static_cast<int64_t>(least) + static_cast<int64_t>(balanced);
}

// There are few scores and there may be many nodes: each finds its place by counting.
void best_first(std::vector<RankedNode>& nodes) {
  std::array<size_t, kMaxTotal + 1> place{};  // by how much is missing to the most
  const auto missing = [](const RankedNode& node) {
    return static_cast<size_t>(std::clamp<int64_t>(kMaxTotal - node.score, 0, kMaxTotal));
  };
  for (const RankedNode& node : nodes) ++place[missing(node)];
  size_t next = 0;
  for (size_t& at : place) next += std::exchange(at, next);
  std::vector<RankedNode> sorted(nodes.size());
  for (const RankedNode& node : nodes) sorted[place[missing(node)]++] = node;
  nodes = std::move(sorted);
}

struct RawScore {
  size_t index = 0;
  int64_t affinity = 0;
  int64_t taints = 0;
};

}  // namespace

Ranking rank(const PodNeeds& needs, std::span<const NodeFacts* const> nodes) {
  Ranking out;
  out.examined = nodes.size();
  std::map<std::pair<Cause, std::string>, size_t> refused;
  std::vector<RawScore> fits;
  int64_t most_affinity = 0, most_taints = 0;
  for (size_t i = 0; i < nodes.size(); ++i) {
    const std::vector<Refusal> why = refusals(needs, *nodes[i]);
    for (const Refusal& refusal : why) ++refused[{refusal.cause, refusal.detail}];
    if (!why.empty()) continue;
    fits.push_back(
        {i, preferred_affinity(needs.pod(), nodes[i]->node()), unwelcome_taints(needs.pod(), nodes[i]->node())});
    most_affinity = std::max(most_affinity, fits.back().affinity);
    most_taints = std::max(most_taints, fits.back().taints);
  }
  for (const RawScore& raw : fits) {
    const int64_t affinity = most_affinity == 0 ? 0 : kMaxScore * raw.affinity / most_affinity;
    const int64_t taints = most_taints == 0 ? kMaxScore : kMaxScore - kMaxScore * raw.taints / most_taints;
    out.nodes.push_back(
        {raw.index, kAffinityWeight * affinity + kTaintWeight * taints + resource_score(needs, *nodes[raw.index])});
  }
  best_first(out.nodes);
  for (const auto& [key, count] : refused) out.refused.push_back({{key.first, key.second}, count});
  return out;
}

std::string Ranking::summary() const {
  std::string out = std::to_string(nodes.size()) + "/" + std::to_string(examined) + " nodes are available";
  if (examined == 0) return "0/0 nodes are available: there are no nodes.";
  std::vector<std::string> parts;
  for (const RefusalCount& count : refused) parts.push_back(std::to_string(count.nodes) + " " + to_text(count.refusal));
  std::sort(parts.begin(), parts.end());
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
