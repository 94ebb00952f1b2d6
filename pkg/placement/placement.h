// Placement: which nodes a pod may go to, in which order, and why not to the others.
//
//   Result<PodNeeds> needs = PodNeeds::of(pod);
//   Ranking ranking = rank(*needs, nodes);     // nodes: NodeFacts made once per node and kept up to date
//   for (const RankedNode& node : ranking.nodes) ... ask the allocator for devices there, best first
//   if nothing fits: ranking.summary()         // "0/3 nodes are available: 2 Insufficient cpu, 1 node(s) ..."
//
// Rules of kube-scheduler 1.36's default filters NodeName, NodeUnschedulable, TaintToleration, NodeAffinity, NodePorts
// and NodeResourcesFit; a node that reports no allocatable resources takes no pods. Pure; plain values, safe to use
// from any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pkg/api/core.h"
#include "pkg/base/error.h"
#include "pkg/placement/resources.h"

namespace dra::placement {

// The closed set of reasons, in the order in which they are looked for. The names (cause_name) are part of the
// interface.
enum class Cause : uint8_t {
  kNodeName,       // NodeName: the pod names another node
  kUnschedulable,  // Unschedulable: the node is cordoned
  kTaint,          // Taint: `detail` is "{key: value}" of the first one the pod does not tolerate
  kNodeAffinity,   // NodeAffinity: nodeSelector or required node affinity
  kHostPort,       // HostPort: `detail` is the first port that is taken
  kTooManyPods,    // TooManyPods: the node's "pods" are used up
  kResource,       // Resource: `detail` is the name of the resource that is short
  kDeleting,       // Deleting: the node is being deleted
};
std::string_view cause_name(Cause cause);

struct Refusal {
  Cause cause = Cause::kNodeName;
  std::string detail;
  bool operator==(const Refusal&) const = default;
};
// As kube-scheduler words it: "Insufficient cpu", "node(s) had untolerated taint {key: value}".
std::string to_text(const Refusal& refusal);

// What a pod needs, worked out once. Refers to the pod, which must outlive it.
class PodNeeds {
 public:
  // `ignored`: see pod_requests(). An error names the container and the resource whose quantity is wrong.
  static Result<PodNeeds> of(const api::Pod& pod, const std::function<bool(const std::string&)>& ignored = nullptr);

  const api::Pod& pod() const { return *pod_; }
  const Amounts& requests() const { return requests_; }
  const Basics& basics() const { return basics_; }
  const std::vector<uint16_t>& host_ports() const { return host_ports_; }

 private:
  explicit PodNeeds(const api::Pod& pod) : pod_(&pod) {}
  const api::Pod* pod_;
  Amounts requests_;
  Basics basics_;
  std::vector<uint16_t> host_ports_;
};

// A node and the pods on it. Refers to the node, which must outlive it.
class NodeFacts {
 public:
  // A resource whose quantity cannot be read counts as absent: `unreadable` names those.
  explicit NodeFacts(const api::Node& node);

  const api::Node& node() const { return *node_; }
  const Amounts& allocatable() const { return allocatable_; }
  const Basics& basics() const { return basics_; }  // of what is allocatable
  const std::vector<std::string>& unreadable() const { return unreadable_; }
  // Pods bound or about to be bound to the node that have not ended.
  NodeLoad load;

 private:
  const api::Node* node_;
  Amounts allocatable_;
  Basics basics_;
  std::vector<std::string> unreadable_;
};

// Why the pod may not go to the node; empty when it may. All short resources are named, of the other causes the first.
std::vector<Refusal> refusals(const PodNeeds& needs, const NodeFacts& facts);

// The part that does not depend on other pods (name, cordon, taints, affinity): what stays wrong when pods end.
std::vector<Refusal> lasting_refusals(const PodNeeds& needs, const NodeFacts& facts);

struct RankedNode {
  size_t index = 0;   // into the nodes given
  int64_t score = 0;  // 0 to 700
};

struct RefusalCount {
  Refusal refusal;
  size_t nodes = 0;
};

struct Ranking {
  std::vector<RankedNode> nodes;      // those the pod may go to: highest score first, ties in the order given
  std::vector<RefusalCount> refused;  // by cause, then detail; a node may be counted under several
  size_t examined = 0;

  // "0/5 nodes are available: 3 Insufficient cpu, 2 node(s) were unschedulable." At most 1 KiB.
  std::string summary() const;
};

// Scores: preferred node affinity (weight 2), untolerated PreferNoSchedule taints (weight 3), least allocated (1) and
// balanced (1) cpu and memory, each 0 to 100 as kube-scheduler normalises them over the nodes that are left.
Ranking rank(const PodNeeds& needs, std::span<const NodeFacts* const> nodes);

bool tolerates(const api::Toleration& toleration, const api::Taint& taint);

}  // namespace dra::placement
