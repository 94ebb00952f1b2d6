// NodeFindings: what placement found out about the nodes for one pod, grouped by what is wrong with them.
//
//   placement::Decision decision = placement::decide(cluster, needs, options);
//   NodeFindings findings = findings_of(cluster, needs, decision);
//   findings.groups[findings.group_of("node-a")].text   // "asks 100 cpu, node has 96"
//
// Plain values, except for the cluster, which must outlive them and not change meanwhile.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "pkg/placement/decision.h"

namespace dra::verdict {

enum class NodeProblem : uint8_t {
  kDevices,   // none: the pod could go there, devices aside
  kPinned,    // a claim of the pod is allocated already, and not for this node
  kDeleting,  // the others in the order in which kube-scheduler checks them
  kCordoned,
  kName,
  kTaint,
  kAffinity,
  kPorts,
  kResources,
  kVolumes,
  kSpread,
  kPodAffinity,
  kKept,  // kept for a group of pods
};
std::string_view node_problem_name(NodeProblem problem);  // "Cordoned"; part of the interface

struct NodeGroup {
  NodeProblem problem = NodeProblem::kDevices;
  // "cordoned", "taint dedicated=ml:NoSchedule is not tolerated", "asks 100 cpu, node has 96".
  std::string text;
  uint32_t nodes = 0;
  // Of these, how many have enough devices for each request of the pod taken alone.
  uint32_t with_devices = 0;
  // Of these, how many have no device of a class that the pod asks for: lists leave them out.
  uint32_t without_class = 0;
  // The first kMaxNames of those that matter, of all in a group in which none does; those with devices come first.
  std::vector<std::string> names;
};
inline constexpr size_t kMaxNames = 8;
// The nodes of the group that matter: those with a device of the class.
inline uint32_t nodes_of_class(const NodeGroup& group) {
  return group.nodes - std::min(group.nodes, group.without_class);
}
// How many nodes a list of names is about: those with devices, if only some have them, else all that matter.
inline uint32_t named_nodes_of(const NodeGroup& group) {
  return group.with_devices > 0 ? group.with_devices : nodes_of_class(group);
}

struct NodeFindings {
  // Groups of refused nodes, largest first. Nodes that pass are in no group.
  std::vector<NodeGroup> groups;
  uint32_t nodes = 0;   // all that were examined
  uint32_t passed = 0;  // that accept the pod, devices aside
  // The pod was refused before any node was examined (a volume claim does not exist), or its spec cannot be read.
  std::string refused;
  // Affinity, anti-affinity or spreading refused a node.
  bool depends_on_pods = false;

  static constexpr uint16_t kNoGroup = 0xffff;  // the node passed
  static constexpr uint16_t kUnknown = 0xfffe;  // no such node, or not part of the decision
  uint16_t group_of(std::string_view node) const;

  const placement::Cluster* cluster = nullptr;
  std::vector<uint16_t> group_by_index;  // index: placement::NodeIndex
};

// Walks the decision's candidates once and does not evaluate labels or pods again. `pinned`: what is wrong with the
// nodes outside the decision; empty: nothing, they are left out.
NodeFindings findings_of(const placement::Cluster& cluster, const placement::PodNeeds& needs,
                         const placement::Decision& decision, const std::string& pinned = "");

// Of nodes that are kept for a group of pods, after its name: kubectl-dra knows it by these words.
inline constexpr std::string_view kWhyKept =
    ", which waits for devices longer than --gang-starvation-after and has no lower priority";
// Nodes that passed are refused for another reason: they become a group of their own.
void refuse_nodes(NodeFindings& findings, NodeProblem problem, const std::string& text,
                  const std::vector<std::string>& nodes);

}  // namespace dra::verdict
