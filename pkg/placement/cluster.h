// Cluster: what placement knows about nodes, the pods on them, namespaces and storage, kept up to date by single
// changes.
//
//   Cluster cluster;
//   cluster.set_node(node);
//   cluster.set_pod(*pod, pod->node_name, false);
//   Decision decision = decide(cluster, *needs);   // decide.h
//
// A pod may be on a node that is not known (yet): it counts as soon as the node is known. Not thread-safe: decide()
// updates caches (label columns, counts of pods by selector) that are kept up to date afterwards.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "pkg/api/core.h"
#include "pkg/base/spread_map.h"
#include "pkg/placement/affinity_terms.h"
#include "pkg/placement/label_columns.h"
#include "pkg/placement/pod_counts.h"
#include "pkg/placement/resources.h"
#include "pkg/placement/storage_facts.h"

namespace dra::placement {

// The fields of a node that every decision reads, close together in memory.
struct NodeRow {
  bool known = false;  // there is a Node object
  bool unschedulable = false;
  bool deleting = false;
  uint32_t taints = 0;                                               // number of its distinct set of taints
  int64_t cpu = 0, memory = 0, ephemeral_storage = 0, max_pods = 0;  // allocatable
  int64_t used_cpu = 0, used_memory = 0, used_ephemeral_storage = 0, pods = 0;
  int64_t score_cpu = 0, score_memory = 0;  // in use as scores count it
};

// A pod on a node, as far as placement counts it.
struct PlacedPod {
  NodeIndex node = 0;
  bool assumed = false;
  bool terminating = false;
  std::string ns, name;
  Charge charge;
  PodCounts::SetId labels = 0;
  std::vector<AffinityTerms::Carried> terms;
  std::vector<api::PodVolume> volumes;
};

struct NodeRest {
  std::string name;
  std::shared_ptr<const api::Node> node;
  Amounts allocatable;  // of other resources
  Amounts used;
  std::vector<api::HostPort> ports;
  std::vector<const PlacedPod*> with_volumes;
};

class Cluster {
 public:
  Cluster() = default;
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  void set_node(std::shared_ptr<const api::Node> node);
  void remove_node(std::string_view name);
  // The pod counts on `node` from now on, and nowhere else. `assumed`: the node is our decision, not the pod's yet.
  void set_pod(const api::Pod& pod, std::string_view node, bool assumed);
  void remove_pod(std::string_view uid);
  void set_namespace(const std::string& name, api::StringMap labels) { namespaces_[name] = std::move(labels); }
  void remove_namespace(const std::string& name) { namespaces_.erase(name); }
  StorageFacts storage;
  WorkloadFacts workloads;

  // nullptr when the pod is not on a node.
  const PlacedPod* pod(std::string_view uid) const;
  std::vector<std::string> assumed_pods() const;  // in no order

  // While this object lives the pod counts nowhere, so that it does not block its own placement.
  class Aside {
   public:
    Aside(Cluster& cluster, std::string_view uid);
    ~Aside();
    Aside(const Aside&) = delete;
    Aside& operator=(const Aside&) = delete;

   private:
    Cluster& cluster_;
    PlacedPod* pod_;
  };

  // Nodes that are known, by name.
  const std::vector<NodeIndex>& nodes() const;
  std::optional<NodeIndex> find_node(std::string_view name) const;  // known ones only
  size_t slots() const { return rows_.size(); }                     // every NodeIndex is below
  // Grows when a NodeIndex is reused for another name. At least 1.
  uint64_t slots_version() const { return slots_version_; }
  // Grows when the set of nodes, their names or their images change: then results for all nodes are outdated. Every
  // other change concerns one node and is in the log.
  uint64_t nodes_version() const { return nodes_version_ + slots_version_; }
  // The number of changes of single nodes so far. The log has those from first_change() on.
  uint64_t changes() const { return first_change_ + log_.size(); }
  uint64_t first_change() const { return first_change_; }
  NodeIndex change(uint64_t n) const { return log_[n - first_change_]; }
  static constexpr size_t kMaxLog = 4096;  // then the older half is dropped
  const NodeRow& row(NodeIndex node) const { return rows_[node]; }
  const NodeRest& rest(NodeIndex node) const { return rest_[node]; }
  const std::vector<api::Taint>& taints(uint32_t set) const { return taint_sets_[set].taints; }
  size_t taint_sets() const { return taint_sets_.size(); }
  // How many nodes had the image, by image_hash(), when a node was last set.
  size_t nodes_with_image(uint64_t name_hash) const;
  // How many pods on known nodes name the claim ("namespace/name") as a persistentVolumeClaim.
  size_t users_of_claim(const std::string& key) const;

  // Labels of a namespace; empty when it is not known.
  const api::StringMap& namespace_labels(const std::string& name) const;
  // Some node has a PreferNoSchedule taint: then the score of each node depends on all others.
  bool has_soft_taints() const;
  const std::map<std::string, api::StringMap>& namespaces() const { return namespaces_; }
  const AffinityTerms& terms() const { return terms_; }

  // Caches: valid until begin_decision().
  const LabelColumn& column(const std::string& key) const { return columns_.column(key); }
  const PodCounts::PerNode& matching(const PodQuery& query) const { return counts_.matching(query); }
  PodCounts::PerNode unknown(const PodQuery& query) const { return counts_.unknown(query); }
  void begin_decision() const;
  uint64_t decision() const { return counts_.decision(); }
  // Frees memory of a cache that no decision has used since that one; false: none is left. Not during a decision.
  bool forget_one_unused_since(uint64_t decision) { return counts_.forget_one_unused_since(decision); }
  // How many distinct sets of pod labels the namespaces have: what a first matching() compares.
  size_t label_sets_in(const NamespaceSet& namespaces) const { return counts_.sets_in(namespaces); }

  // For tests: how many of each are stored.
  size_t kept_nodes() const { return by_name_.size(); }
  size_t kept_label_sets() const { return counts_.sets(); }
  size_t kept_queries() const { return counts_.queries(); }
  size_t bytes_of_queries() const { return counts_.bytes(); }
  size_t kept_terms() const { return terms_.terms(); }

 private:
  struct TaintSet {
    std::string text;
    std::vector<api::Taint> taints;
    uint32_t users = 0;
  };

  NodeIndex slot_of(std::string_view name);
  void drop_slot_if_unused(NodeIndex node);
  uint32_t acquire_taints(const std::vector<api::Taint>& taints);
  void release_taints(uint32_t set);
  void count_images(const api::Node& node, int change);
  void log_change(NodeIndex node);
  void count(PlacedPod& pod, int64_t sign);
  Charge charge_of(const api::Pod& pod);
  void count_claims(const PlacedPod& pod, int64_t sign);

  std::vector<NodeRow> rows_;
  std::vector<NodeRest> rest_;
  std::unordered_map<std::string, NodeIndex, StringHash, std::equal_to<>> by_name_;
  std::vector<NodeIndex> free_;
  uint64_t slots_version_ = 1;
  uint64_t nodes_version_ = 0;
  std::vector<NodeIndex> log_;
  uint64_t first_change_ = 0;
  mutable std::vector<NodeIndex> ordered_;
  mutable bool order_stale_ = false;
  std::vector<TaintSet> taint_sets_;
  std::unordered_map<std::string, uint32_t> taint_set_by_text_;
  std::vector<uint32_t> free_taint_sets_;
  SpreadMap<std::string, PlacedPod> pods_;                                // by uid
  std::unordered_set<std::string, StringHash, std::equal_to<>> assumed_;  // of pods_, by uid
  std::map<std::string, api::StringMap> namespaces_;
  std::unordered_map<uint64_t, uint32_t> images_;
  std::unordered_map<std::string, std::vector<const PlacedPod*>> claim_users_;
  // What the last pod takes whose spec alone decides that, and the fields that do: the next one is often alike.
  struct {
    std::vector<api::Container> containers, init_containers;
    api::ResourceList overhead;
    decltype(api::Pod::pod_requests) pod_requests;
    Charge charge;
  } last_charged_;
  AffinityTerms terms_;
  mutable LabelColumns columns_;
  mutable PodCounts counts_;
};

}  // namespace dra::placement
