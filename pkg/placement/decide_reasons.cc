// A decision in kube-scheduler's words: each plugin has its own.
#include <algorithm>
#include <map>
#include <utility>

#include "pkg/placement/decision.h"
#include "pkg/placement/plugins.h"

namespace dra::placement {
namespace {

constexpr size_t kMaxSummary = 1024;

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

std::vector<std::string> Decision::reasons(const NodeRefusal& verdict) const {
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

std::string Decision::summary() const {
  const size_t examined = candidates.size() + not_named;
  const std::string of = std::to_string(nodes.size()) + "/" + std::to_string(examined) + " nodes are available";
  if (error) return *error;
  if (pod_refused_by != Plugin::kNone) return of + ": " + pod_reason + ".";
  if (examined == 0) return "0/0 nodes are available: there are no nodes.";
  std::map<std::pair<Plugin, uint64_t>, size_t> kinds;  // few: the words are made once for each
  for (const NodeRefusal& verdict : verdicts)
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
