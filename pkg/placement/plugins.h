// The filters and scores of the default profile, one file each in plugins/. Internal to pkg/placement.
//
// A filter judges the candidates that earlier filters have left; a score adds its weighted share, 0 to 100 times the
// weight, to each feasible node. The rules are those of kube-scheduler 1.36.2.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "pkg/placement/attempt.h"

namespace dra::placement {

using Words = std::vector<std::string_view>;  // the reasons of a plugin, by bit of NodeRefusal::reasons

// The remaining nodes and their total scores.
struct Scores {
  std::vector<NodeIndex> nodes;
  std::vector<int64_t> totals;
  std::vector<int64_t> preferred;  // the part of the totals that the pod prefers
};

// Refuses the attempt when the pod's rules about other pods would need too many comparisons.
void bound_pod_rules(Attempt& attempt);
void filter_node_deletion(Attempt& attempt);
void filter_node_unschedulable(Attempt& attempt);
void filter_node_name(Attempt& attempt);
void filter_taints(Attempt& attempt);
// May refuse the pod, or leave only the nodes that every term allows by name.
void prefilter_node_affinity(Attempt& attempt);
void filter_node_affinity(Attempt& attempt);
void filter_ports(Attempt& attempt);
void filter_resources(Attempt& attempt);
void prefilter_volume_restrictions(Attempt& attempt);
void filter_volume_restrictions(Attempt& attempt);
void filter_volume_limits(Attempt& attempt);

class VolumeBinding {
 public:
  explicit VolumeBinding(Attempt& attempt);  // may refuse the pod
  ~VolumeBinding();
  void filter(Attempt& attempt);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

class VolumeZone {
 public:
  explicit VolumeZone(Attempt& attempt);  // may refuse the pod
  void filter(Attempt& attempt) const;

 private:
  struct Topology {
    std::string key;
    std::vector<std::string> values;
  };
  std::vector<Topology> topologies_;
};

void prefilter_topology_spread(Attempt& attempt);
void filter_topology_spread(Attempt& attempt);
void filter_inter_pod_affinity(Attempt& attempt);

void score_taints(const Attempt& attempt, Scores& scores);
void score_node_affinity(const Attempt& attempt, Scores& scores);
void score_resources(const Attempt& attempt, Scores& scores);
void score_balance(const Attempt& attempt, Scores& scores);
void score_inter_pod_affinity(const Attempt& attempt, Scores& scores);
void score_topology_spread(const Attempt& attempt, Scores& scores);
void score_images(const Attempt& attempt, Scores& scores);

extern const Words kVolumeRestrictionWords, kVolumeBindingWords, kTopologySpreadWords, kInterPodAffinityWords;

inline constexpr int64_t kMaxPluginScore = 100;

// The namespaces whose pods a term of the pending pod can match.
NamespaceSet namespaces_of(const Cluster& cluster, const AffinityTerm& term);

}  // namespace dra::placement
