// What placement is asked and what it answers: a pod's needs, the options, and the decision with one verdict a node.
// decide.h makes a Decision of them. Plain values, except that PodNeeds refers to its pod.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pkg/api/core.h"
#include "pkg/base/error.h"
#include "pkg/placement/cluster.h"

namespace dra::placement {

// In the order in which they are applied.
enum class Plugin : uint8_t {
  kNone,
  kNodeDeletion,  // ours: a node that is being deleted takes no pods
  kNodeUnschedulable,
  kNodeName,
  kTaintToleration,
  kNodeAffinity,
  kNodePorts,
  kNodeResourcesFit,
  kVolumeRestrictions,
  kNodeVolumeLimits,
  kVolumeBinding,
  kVolumeZone,
  kPodTopologySpread,
  kInterPodAffinity,
};
std::string_view plugin_name(Plugin plugin);

// Whether the rules that depend on volumes apply. A caller that does not watch storage leaves them out.
enum class Volumes : uint8_t { kIgnored, kChecked };

// What a pod needs, computed once. Refers to the pod, which must outlive it.
class PodNeeds {
 public:
  // `ignored`: see pending_charge(). The error says that the pod has too many rules (api::check_bounds), or names the
  // field that cannot be read: a quantity or a label selector.
  static Result<PodNeeds> of(const api::Pod& pod, const std::function<bool(const std::string&)>& ignored = nullptr);

  const api::Pod& pod() const { return *pod_; }
  const Charge& charge() const { return charge_; }
  const std::vector<AffinityTerm>& affinity() const { return affinity_; }            // required
  const std::vector<AffinityTerm>& anti_affinity() const { return anti_affinity_; }  // required

  // Its rules read labels of namespaces: some term selects some but not all namespaces.
  bool reads_namespaces() const;
  // It has volumes that are claims.
  bool reads_storage() const;

 private:
  explicit PodNeeds(const api::Pod& pod) : pod_(&pod) {}
  const api::Pod* pod_;
  Charge charge_;
  std::vector<AffinityTerm> affinity_, anti_affinity_;
};

// Why a node was refused, by the first plugin that refused it.
struct NodeRefusal {
  Plugin plugin = Plugin::kNone;  // kNone: not refused
  bool unresolvable = false;      // preemption cannot help (UnschedulableAndUnresolvable)
  uint64_t reasons = 0;           // bits; Decision::reasons() has the words
};

struct RankedNode {
  NodeIndex node = 0;
  int64_t score = 0;      // 0 to kMaxTotalScore
  int64_t preferred = 0;  // the part of it that the pod prefers (node and pod affinity, taints, spreading)
};
inline constexpr int64_t kMaxTotalScore = 1200;

// What VolumeBinding would do on a node: volumes to bind to claims, claims to provision. Names within the namespace.
struct VolumePlan {
  std::map<std::string, std::string> bind;
  std::vector<std::string> provision;
};

struct DecisionOptions {
  Volumes volumes = Volumes::kChecked;
  bool keep_plans = false;  // fill Decision::plans
  // Score only what the pod prefers, and leave the nodes in the order of the candidates: for a caller that weighs all
  // of them anyway (best-fit).
  bool preferences_only = false;
  // Only these nodes, in this order; nullptr: all. Other nodes still count for spreading and affinity.
  const std::vector<NodeIndex>* only = nullptr;
};

struct Decision {
  // Where the pod can run: highest score first, ties in the order of the candidates (see preferences_only).
  std::vector<RankedNode> nodes;
  std::vector<NodeIndex> candidates;
  std::vector<NodeRefusal> verdicts;  // of the candidates
  // The plugin that refused the pod before any node was examined (always UnschedulableAndUnresolvable).
  Plugin pod_refused_by = Plugin::kNone;
  std::string pod_reason;
  // The attempt failed: an object that the rules need is broken, or the pod has too many rules about other pods for so
  // many pods. Nothing else is set.
  std::optional<std::string> error;
  std::map<NodeIndex, VolumePlan> plans;
  // NodeAffinity's name terms narrowed the candidates; the other `not_named` nodes count as refused by no plugin.
  bool narrowed_by_name = false;
  size_t not_named = 0;

  // Some node was refused because of where other pods are, or are not.
  bool depends_on_pods() const;
  // Some node was refused for a reason that may end when a pod leaves, or that cannot be judged.
  bool depends_on_capacity() const;

  // In kube-scheduler's words and order (decide_reasons.cc).
  std::vector<std::string> reasons(const NodeRefusal& verdict) const;
  // "0/5 nodes are available: 2 node(s) were unschedulable, 3 Insufficient cpu." At most 1 KiB.
  std::string summary() const;

  // The pod's resources beside cpu, memory and ephemeral storage, which have bits of a verdict.
  std::vector<std::string> other_resources;
};

// What this decision would do about the pod's volumes on the node (made with keep_plans).
VolumePlan plan_on(NodeIndex node, Decision decision);

// A pod that leaves may change this plugin's verdict.
bool depends_on_capacity(Plugin plugin);
// The pod has no spreading constraints of its own, and its services or its controller make the default ones apply.
bool is_spread_by_default(const Cluster& cluster, const api::Pod& pod);

}  // namespace dra::placement
