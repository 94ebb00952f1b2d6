#include "pkg/verdict/nodes.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include "pkg/api/selectors.h"
#include "pkg/verdict/words.h"

namespace dra::verdict {

namespace {

constexpr size_t kMaxDetail = 120;

NodeProblem problem_of(placement::Plugin plugin) {
  using placement::Plugin;
  switch (plugin) {
    case Plugin::kNone:
      break;
    case Plugin::kNodeDeletion:
      return NodeProblem::kDeleting;
    case Plugin::kNodeUnschedulable:
      return NodeProblem::kCordoned;
    case Plugin::kNodeName:
      return NodeProblem::kName;
    case Plugin::kTaintToleration:
      return NodeProblem::kTaint;
    case Plugin::kNodeAffinity:
      return NodeProblem::kAffinity;
    case Plugin::kNodePorts:
      return NodeProblem::kPorts;
    case Plugin::kNodeResourcesFit:
      return NodeProblem::kResources;
    case Plugin::kVolumeRestrictions:
    case Plugin::kNodeVolumeLimits:
    case Plugin::kVolumeBinding:
    case Plugin::kVolumeZone:
      return NodeProblem::kVolumes;
    case Plugin::kPodTopologySpread:
      return NodeProblem::kSpread;
    case Plugin::kInterPodAffinity:
      return NodeProblem::kPodAffinity;
  }
  return NodeProblem::kDevices;
}

// One resource that a node lacks.
struct Shortage {
  std::string_view resource;
  int64_t asked = 0, allocatable = 0, free = 0;
};

class NodeGrouper {
 public:
  NodeGrouper(const placement::Cluster& cluster, const placement::PodNeeds& needs, const placement::Decision& decision)
      : cluster_(cluster), needs_(needs), decision_(decision) {}

  NodeFindings run(const std::string& pinned) {
    NodeFindings findings;
    findings.cluster = &cluster_;
    find_refused();
    findings.depends_on_pods = std::any_of(refused_.begin(), refused_.end(), [&](size_t i) {
      const placement::Plugin plugin = decision_.verdicts[i].plugin;
      return plugin == placement::Plugin::kPodTopologySpread || plugin == placement::Plugin::kInterPodAffinity;
    });
    if (decision_.error)
      findings.refused = clean(*decision_.error, 512);
    else if (decision_.pod_refused_by != placement::Plugin::kNone)
      findings.refused = clean(decision_.pod_reason, 512);
    findings.nodes = static_cast<uint32_t>(decision_.candidates.size());
    findings.passed = static_cast<uint32_t>(decision_.nodes.size());
    if (!findings.refused.empty()) return findings;
    // If all nodes were examined, those that are not refused below have passed.
    const bool all = decision_.candidates.size() == cluster_.nodes().size();
    findings.group_by_index.assign(cluster_.slots(), all ? NodeFindings::kNoGroup : NodeFindings::kUnknown);
    if (!all)
      for (const placement::RankedNode& node : decision_.nodes)
        findings.group_by_index[node.node] = NodeFindings::kNoGroup;
    for (const size_t i : refused_)
      enter(findings, decision_.candidates[i], number_of(decision_.candidates[i], decision_.verdicts[i]));
    if (!pinned.empty()) {
      const uint16_t number = make(NodeProblem::kPinned, pinned);
      for (const placement::NodeIndex node : cluster_.nodes())
        if (findings.group_by_index[node] == NodeFindings::kUnknown) enter(findings, node, number);
      findings.nodes += groups_[number].nodes;
    } else if (decision_.narrowed_by_name && decision_.not_named > 0) {
      // A term names its nodes: the others were not even candidates.
      const uint16_t number = make(NodeProblem::kAffinity, "the pod's node affinity names other nodes");
      findings.nodes += static_cast<uint32_t>(decision_.not_named);
      std::vector<bool> candidate(cluster_.slots(), false);
      for (const placement::NodeIndex node : decision_.candidates) candidate[node] = true;
      for (const placement::NodeIndex node : cluster_.nodes())
        if (!candidate[node]) enter(findings, node, number);
      groups_[number].nodes = static_cast<uint32_t>(decision_.not_named);
    }
    finish(findings);
    return findings;
  }

 private:
  // The only walk over all candidates; later steps examine only these.
  void find_refused() {
    const placement::NodeRefusal* const verdicts = decision_.verdicts.data();
    for (size_t i = 0, end = decision_.verdicts.size(); i < end; ++i)
      if (verdicts[i].plugin != placement::Plugin::kNone) refused_.push_back(i);
  }

  void enter(NodeFindings& findings, placement::NodeIndex node, uint16_t number) {
    NodeGroup& group = groups_[number];
    ++group.nodes;
    if (findings.group_by_index[node] >= NodeFindings::kUnknown) grouped_.push_back(node);
    if (group.names.size() < kMaxNames) group.names.push_back(cluster_.rest(node).name);
    findings.group_by_index[node] = number;
  }

  // Texts are made once per key: the verdict and a few numbers of the node's row.
  uint16_t number_of(placement::NodeIndex node, const placement::NodeRefusal& verdict) {
    const uint32_t taints = verdict.plugin == placement::Plugin::kTaintToleration ? cluster_.row(node).taints : 0;
    const auto [known, fresh] = keys_.try_emplace({verdict.plugin, verdict.reasons, verdict.unresolvable, taints}, 0);
    if (verdict.plugin == placement::Plugin::kNodeResourcesFit) {
      if (fresh) {
        known->second = make_new(NodeProblem::kResources, "");
        shortages_[known->second].resize(4 + needs_.charge().others.size());
      }
      widen(node, verdict, shortages_[known->second]);
    } else if (fresh) {
      known->second = make(problem_of(verdict.plugin), text_of(node, verdict));
    }
    return known->second;
  }

  // The group with this text, or a new one.
  uint16_t make(NodeProblem problem, std::string text) {
    for (uint16_t i = 0; i < groups_.size(); ++i)
      if (groups_[i].problem == problem && groups_[i].text == text) return i;
    return make_new(problem, std::move(text));
  }
  uint16_t make_new(NodeProblem problem, std::string text) {
    if (groups_.size() >= kMaxGroups) return static_cast<uint16_t>(groups_.size() - 1);
    groups_.push_back({problem, std::move(text)});
    return static_cast<uint16_t>(groups_.size() - 1);
  }

  std::string text_of(placement::NodeIndex node, const placement::NodeRefusal& verdict) const {
    switch (problem_of(verdict.plugin)) {
      case NodeProblem::kDeleting:
        return "being deleted";
      case NodeProblem::kCordoned:
        return "cordoned";
      case NodeProblem::kName:
        return "the pod names another node";
      case NodeProblem::kTaint:
        return "taint " + taint_text(node) + " is not tolerated";
      case NodeProblem::kAffinity:
        return affinity_text();
      case NodeProblem::kPorts:
        return "host port " + ports_text() + " is taken";
      case NodeProblem::kSpread:
      case NodeProblem::kPodAffinity:
      case NodeProblem::kVolumes:
        return scheduler_words(verdict);
      default:
        return "";
    }
  }

  std::string taint_text(placement::NodeIndex node) const {
    const std::vector<api::Toleration>& tolerations = needs_.pod().tolerations;
    for (const api::Taint& taint : cluster_.taints(cluster_.row(node).taints)) {
      if (taint.effect != "NoSchedule" && taint.effect != "NoExecute") continue;
      if (api::tolerates(tolerations, taint)) continue;
      return clean(taint.key + (taint.value.empty() ? "" : "=" + taint.value) + ":" + taint.effect, kMaxDetail);
    }
    return "of the node";
  }

  std::string affinity_text() const {
    const api::Pod& pod = needs_.pod();
    std::string selector;
    for (const auto& [key, value] : pod.node_selector) selector += (selector.empty() ? "" : ",") + key + "=" + value;
    if (!selector.empty() && (!pod.node_affinity || !pod.node_affinity->required))
      return "does not match the pod's node selector " + clean(selector, kMaxDetail);
    return "does not match the pod's node affinity";
  }

  std::string ports_text() const {
    std::string text;
    for (const api::HostPort& port : needs_.charge().ports)
      text += (text.empty() ? "" : ", ") + std::to_string(port.port) + "/" + port.protocol;
    return clean(text, kMaxDetail);
  }

  // kube-scheduler's words without their subject: "didn't match pod anti-affinity rules".
  std::string scheduler_words(const placement::NodeRefusal& verdict) const {
    std::string text;
    for (const std::string& reason : decision_.reasons(verdict)) {
      constexpr std::string_view kSubject = "node(s) ";
      text += (text.empty() ? "" : ", ") + (reason.starts_with(kSubject) ? reason.substr(kSubject.size()) : reason);
    }
    return clean(text, kMaxDetail);
  }

  void widen(placement::NodeIndex node, const placement::NodeRefusal& verdict, std::vector<Shortage>& all) const {
    const placement::NodeRow& row = cluster_.row(node);
    const placement::Charge& charge = needs_.charge();
    const auto note = [&](size_t bit, std::string_view name, int64_t asked, int64_t allocatable, int64_t used) {
      if (!(verdict.reasons >> std::min<size_t>(bit, 63) & 1)) return;
      Shortage& one = all[bit];
      const int64_t free = placement::saturating_add(allocatable, -used);
      if (one.resource.empty()) one = {name, asked, allocatable, free};
      one.allocatable = std::max(one.allocatable, allocatable);
      one.free = std::max(one.free, free);
    };
    note(0, "pods", 1, row.max_pods, row.pods);
    note(1, "cpu", charge.cpu, row.cpu, row.used_cpu);
    note(2, "memory", charge.memory, row.memory, row.used_memory);
    note(3, "ephemeral-storage", charge.ephemeral_storage, row.ephemeral_storage, row.used_ephemeral_storage);
    const placement::NodeRest& rest = cluster_.rest(node);
    for (size_t i = 0; i < charge.others.size(); ++i)
      note(4 + i, charge.others[i].first, charge.others[i].second,
           placement::amount_of(rest.allocatable, charge.others[i].first),
           placement::amount_of(rest.used, charge.others[i].first));
  }

  static std::string shortage_text(const std::vector<Shortage>& all, bool several) {
    std::string text;
    for (const Shortage& one : all) {
      if (one.resource.empty()) continue;
      text += text.empty() ? "" : " and ";
      const std::string most = several ? "at most " : "";
      const std::string name = clean(one.resource, 64);
      if (one.resource == "pods") {
        text += "runs as many pods as it can (" + std::to_string(one.allocatable) + ")";
        continue;
      }
      const std::string asks = "asks " + amount_text(name, one.asked) + " " + name + ", node has " + most;
      if (one.asked > one.allocatable)
        text += asks + amount_text(name, one.allocatable);
      else
        text +=
            asks + amount_text(name, std::max<int64_t>(0, one.free)) + " left of " + amount_text(name, one.allocatable);
    }
    return text;
  }

  // Names the groups of resources and puts the largest group first.
  void finish(NodeFindings& findings) {
    for (const auto& [number, all] : shortages_) groups_[number].text = shortage_text(all, groups_[number].nodes > 1);
    std::vector<uint16_t> order(groups_.size());
    for (uint16_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(),
                     [&](uint16_t a, uint16_t b) { return groups_[a].nodes > groups_[b].nodes; });
    std::vector<uint16_t> place(groups_.size());
    for (uint16_t i = 0; i < order.size(); ++i) {
      place[order[i]] = i;
      findings.groups.push_back(std::move(groups_[order[i]]));
    }
    for (const placement::NodeIndex node : grouped_)
      findings.group_by_index[node] = place[findings.group_by_index[node]];
  }

  static constexpr size_t kMaxGroups = 256;
  using Key = std::tuple<placement::Plugin, uint64_t, bool, uint32_t>;

  const placement::Cluster& cluster_;
  const placement::PodNeeds& needs_;
  const placement::Decision& decision_;
  std::vector<size_t> refused_;                // indexes into the candidates
  std::vector<placement::NodeIndex> grouped_;  // in any group, each node once
  std::vector<NodeGroup> groups_;
  std::map<Key, uint16_t> keys_;
  std::map<uint16_t, std::vector<Shortage>> shortages_;
};

}  // namespace

std::string_view node_problem_name(NodeProblem problem) {
  static constexpr std::array<std::string_view, 13> kNames = {
      "Devices", "Pinned",    "Deleting", "Cordoned", "NodeName",    "Taint", "Affinity",
      "Ports",   "Resources", "Volumes",  "Spread",   "PodAffinity", "Kept"};
  return kNames.at(static_cast<size_t>(problem));
}

uint16_t NodeFindings::group_of(std::string_view node) const {
  if (!cluster) return kNoGroup;
  const auto index = cluster->find_node(node);
  return index && *index < group_by_index.size() ? group_by_index[*index] : kUnknown;
}

void refuse_nodes(NodeFindings& findings, NodeProblem problem, const std::string& text,
                  const std::vector<std::string>& nodes) {
  NodeGroup group;
  group.problem = problem;
  group.text = text;
  group.nodes = static_cast<uint32_t>(std::min<size_t>(nodes.size(), findings.passed));
  if (group.nodes == 0) return;
  const auto number = static_cast<uint16_t>(findings.groups.size());
  for (const std::string& name : nodes) {
    if (group.names.size() < kMaxNames) group.names.push_back(name);
    const auto index = findings.cluster ? findings.cluster->find_node(name) : std::nullopt;
    if (index && *index < findings.group_by_index.size()) findings.group_by_index[*index] = number;
  }
  findings.passed -= group.nodes;
  findings.groups.push_back(std::move(group));
}

NodeFindings findings_of(const placement::Cluster& cluster, const placement::PodNeeds& needs,
                         const placement::Decision& decision, const std::string& pinned) {
  return NodeGrouper(cluster, needs, decision).run(pinned);
}

}  // namespace dra::verdict
