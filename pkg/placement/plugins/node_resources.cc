// NodeResourcesFit (least allocated) and NodeResourcesBalancedAllocation.
//
// Bits of a verdict: too many pods, cpu, memory, ephemeral storage, then the pod's other resources by name.
#include <cmath>

#include "pkg/placement/plugins.h"

namespace dra::placement {
namespace {

constexpr unsigned kOtherBit = 4;
constexpr size_t kMaxOtherBits = 60;

void check(NodeRefusal& out, unsigned bit, int64_t wanted, int64_t allocatable, int64_t used) {
  if (wanted <= 0 || wanted <= saturating_add(allocatable, -used)) return;
  out.plugin = Plugin::kNodeResourcesFit;
  out.reasons |= uint64_t{1} << bit;
  out.unresolvable = out.unresolvable || wanted > allocatable;
}

int64_t least_requested(int64_t allocatable, int64_t requested) {
  if (requested > allocatable) return 0;
  return static_cast<int64_t>(static_cast<__int128>(allocatable - requested) * kMaxPluginScore / allocatable);
}

// 100 where cpu and memory are used equally; a resource that the node does not offer is ignored.
int64_t balance(const NodeRow& row, int64_t cpu, int64_t memory) {
  if (row.cpu == 0 || row.memory == 0) return kMaxPluginScore;
  const double cpu_share = std::min(static_cast<double>(cpu) / static_cast<double>(row.cpu), 1.0);
  const double memory_share = std::min(static_cast<double>(memory) / static_cast<double>(row.memory), 1.0);
  const double deviation = std::abs((cpu_share - memory_share) / 2);
  return static_cast<int64_t>((1 - deviation) * static_cast<double>(kMaxPluginScore));
}

}  // namespace

void filter_resources(Attempt& attempt) {
  const Charge& charge = attempt.needs.charge();
  attempt.filter([&](NodeIndex node) {
    const NodeRow& row = attempt.cluster.row(node);
    NodeRefusal out;
    if (row.pods + 1 > row.max_pods) out = refuse(Plugin::kNodeResourcesFit, false, 0);
    check(out, 1, charge.cpu, row.cpu, row.used_cpu);
    check(out, 2, charge.memory, row.memory, row.used_memory);
    check(out, 3, charge.ephemeral_storage, row.ephemeral_storage, row.used_ephemeral_storage);
    const NodeRest& rest = attempt.cluster.rest(node);
    for (size_t i = 0; i < charge.others.size(); ++i) {
      const auto& [name, amount] = charge.others[i];
      check(out, kOtherBit + static_cast<unsigned>(std::min(i, kMaxOtherBits - 1)), amount,
            amount_of(rest.allocatable, name), amount_of(rest.used, name));
    }
    return out;
  });
}

void score_resources(const Attempt& attempt, Scores& scores) {
  const Charge& charge = attempt.needs.charge();
  for (size_t i = 0; i < scores.nodes.size(); ++i) {
    const NodeRow& row = attempt.cluster.row(scores.nodes[i]);
    int64_t sum = 0, offered = 0;
    const auto add = [&](int64_t allocatable, int64_t requested) {
      if (allocatable <= 0) return;
      sum += least_requested(allocatable, requested);
      ++offered;
    };
    add(row.cpu, saturating_add(row.score_cpu, charge.score_cpu));
    add(row.memory, saturating_add(row.score_memory, charge.score_memory));
    if (offered > 0) scores.totals[i] += sum / offered;
  }
}

void score_balance(const Attempt& attempt, Scores& scores) {
  const Charge& charge = attempt.needs.charge();
  if (charge.cpu == 0 && charge.memory == 0) return;
  for (size_t i = 0; i < scores.nodes.size(); ++i) {
    const NodeRow& row = attempt.cluster.row(scores.nodes[i]);
    const int64_t with =
        balance(row, saturating_add(row.used_cpu, charge.cpu), saturating_add(row.used_memory, charge.memory));
    const int64_t without = balance(row, row.used_cpu, row.used_memory);
    scores.totals[i] += kMaxPluginScore / 2 + (kMaxPluginScore / 2 + with - without) / 2;
  }
}

}  // namespace dra::placement
