// NodeTracker: keeps nodes and the pods on them up to date for pkg/placement, which finds the nodes that fit a pod.
//
// A pod counts on the node it is bound to and, from the decision until the stream shows it bound or gone, on the node
// chosen for it, together with the volumes that its claims get there. A pod that others nominated for a node counts
// there for pods of the same priority or a lower one. Not thread-safe: the reactor's thread owns it.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "pkg/api/core.h"
#include "pkg/base/strings.h"
#include "pkg/nodes/choice_cache.h"
#include "pkg/nodes/node_chooser.h"
#include "pkg/nodes/shape.h"
#include "pkg/placement/assumed_volumes.h"
#include "pkg/placement/decision.h"
#include "pkg/placement/node_numbers.h"

namespace dra::nodes {

// Objects that are watched only once the first pod needs them.
enum class Facts : uint8_t {
  kNamespaces,  // pods whose affinity selects namespaces by label
  kVolumes,     // pods with PersistentVolumeClaims
  kWorkloads,   // pods of ReplicaSets and the like: default spreading, a score only
  kJobs,        // pods of Jobs that may be evicted to be recreated
};
inline constexpr size_t kFactsKinds = 4;

class NodeTracker : public NodeChooser {
 public:
  // The clock must outlive it.
  explicit NodeTracker(const Clock& clock) : clock_(clock), volumes_(cluster_.storage, clock) {}
  // From then on choices carry the inventory's numbers of their nodes. The inventory must outlive this.
  void number_by(inventory::Inventory& inventory) { numbers_.emplace(inventory); }

  // A node that is not Ready counts as tainted (unready.h).
  void set_node(std::shared_ptr<const api::Node> node);
  void remove_node(const std::string& name) {
    changes(name);
    cluster_.remove_node(name);
  }
  // The pod as the stream has it: it counts if it is bound and has not ended.
  void set_pod(const api::Pod& pod);
  void remove_pod(const std::string& uid);
  // `takes`: what its claims take of the node (KEP-5517) until it is bound, whatever its status says; nullopt: as
  // before.
  void assume(const api::Pod& pod, const std::string& node,
              std::optional<std::vector<api::ClaimTakes>> takes = std::nullopt);
  void forget(const std::string& uid);
  void forget_all();
  uint64_t decision() const { return cluster_.decision(); }
  // What is kept of queries that no decision has asked since that one, piece by piece; false: nothing is left.
  bool forget_one_unused_since(uint64_t decision) { return cluster_.forget_one_unused_since(decision); }
  // For a while these nodes are not chosen for the pod of this uid, or the pods of this owner_key(). At most
  // kMaxAvoided entries at a time: the oldest are dropped.
  void avoid(const std::string& uid, const std::vector<std::string>& nodes, Duration lasts, const std::string& why);

  void set_namespace(const api::Namespace& ns) {
    changes_everywhere();
    cluster_.set_namespace(ns.metadata.name, ns.metadata.labels);
    if (ns.metadata.annotations.empty())
      namespace_annotations_.erase(ns.metadata.name);
    else
      namespace_annotations_[ns.metadata.name] = ns.metadata.annotations;
  }
  void remove_namespace(const std::string& name) {
    changes_everywhere();
    cluster_.remove_namespace(name);
    namespace_annotations_.erase(name);
  }
  placement::StorageFacts& storage() { return cluster_.storage; }  // all but claims and volumes
  placement::AssumedVolumes& volumes() { return volumes_; }
  placement::WorkloadFacts& workloads() { return cluster_.workloads; }
  placement::ObjectsByKey<api::Job>& jobs() { return jobs_; }
  // Why a pod with a volume still to be bound must wait; empty: this program may bind volumes, or need not.
  void set_volumes_unbindable(std::string why) { volumes_unbindable_ = std::move(why); }
  // `why`: the reason of a pod that needs these facts while they are unavailable; empty: they are only being listed,
  // and nothing is withdrawn for that.
  void set_known(Facts facts, bool known, std::string why);
  // Called when a pod needs facts that are unknown; possibly often, and in the middle of a decision.
  void on_needed(std::function<void(Facts)> callback) { needed_ = std::move(callback); }

  NodeChoice choose(const api::Pod& pod, const std::vector<std::string>& only) override;
  verdict::NodeFindings findings(const api::Pod& pod) override;
  bool matches(const api::NodeSelector& selector, const std::string& node) override;
  std::vector<std::string> all_nodes() override;
  VolumeNeeds volumes(const api::Pod& pod, const std::string& node) override;
  std::optional<std::string> namespace_label(const std::string& ns, const std::string& key) override;
  std::optional<api::StringMap> namespace_annotations(const std::string& ns) override;
  JobPolicy job_policy(const std::string& ns, const std::string& name, const std::string& uid) override;
  std::string shape(const api::Pod& pod) const override;
  bool have_same_shape(const api::Pod& a, const api::Pod& b) const override;
  uint64_t shapes_version() const override { return shapes_version_; }
  placement::Cluster* cluster() override { return &cluster_; }
  std::vector<std::string> nominated() const override;
  void set_places(const std::string& owner, const std::vector<PromisedPlace>& places,
                  const std::vector<const api::Pod*>& known) override;
  std::string_view counts_on(const api::Pod& pod) const override;
  std::optional<gang::Resources> takes(const api::Pod& pod) const override;
  std::vector<gang::Resources> left_for(const std::vector<const api::Pod*>& pods,
                                        const std::vector<std::string>& nodes) const override;
  std::function<api::Quantity(const std::string&, const std::string&)> room_for(const api::Pod& pod) const override;
  void suppose(const api::Pod& pod, const std::string& node) override;
  void stop_supposing(const api::Pod& pod) override;
  uint64_t version() const override { return version_; }
  bool still_takes(const api::Pod& pod, const std::string& node, uint64_t version) const override;
  uint64_t volumes_version() const override { return cluster_.storage.version() - supposed_changes_; }

  static constexpr size_t kMaxAvoided = 4096;
  static constexpr size_t kMaxChanged = 1024;
  // How long pods wait for the first list of what only scores read, after the first of them needed it.
  static constexpr Duration kScoreWait = std::chrono::seconds(1);

 private:
  struct Known {
    bool known = false;
    std::string why;  // why not; empty: they are being listed
  };
  struct Avoided {
    std::string node, why;
    MonoTime until;
  };

  bool needs_namespaces(const placement::PodNeeds& needs) const;
  bool knows_namespaces();
  // The facts that the pod needs and that are unknown; nullptr: it can be decided. Requests what is missing.
  const Known* missing_facts(const placement::PodNeeds& needs);
  // The pod is chosen a node by scores whose facts are being listed for the first time. Requests them.
  bool waits_for_scores(const api::Pod& pod);
  placement::Decision decide(const placement::PodNeeds& needs, const placement::DecisionOptions& options) const;
  template <class F>
  void each_aside(const api::Pod& pod, F&& f) const;
  // Chooses among all nodes, without the nodes that this one pod avoids or prefers.
  NodeChoice choose_among_all(const placement::PodNeeds& needs);
  NodeChoice choice_of(const placement::PodNeeds& needs, const placement::DecisionOptions& options);
  // The cached choice for pods of this shape applies: this pod does not count on a node yet, and no nominated pod is
  // set aside for it.
  bool may_share_choice(const api::Pod& pod) const;
  placement::VolumePlan plan(const api::Pod& pod, const std::string& node);
  bool waits_for_volumes(const api::Pod& pod) const;
  // One of its claims has no volume yet, and its class leaves the binding to whoever places the pod.
  bool has_volumes_to_bind(const api::Pod& pod) const;
  std::vector<const Avoided*> avoided_by(const api::Pod& pod) const;
  void drop_avoided(const api::Pod& pod, NodeChoice& choice) const;
  // " persistentvolumeclaim ... names StorageClass ..., which does not exist."; empty: all exist.
  std::string absent_class(const api::Pod& pod) const;
  // The node for which others nominated the waiting pod, or that it was promised together with others; empty: none.
  const std::string& nomination_of(const api::Pod& pod) const;
  // What the pod's group was promised, all members together; null: nothing.
  struct Unit {
    std::string group;  // its key; empty: none of the pods was seen yet
    std::vector<std::string> pods;
  };
  const Unit* promised_to_group_of(const api::Pod& pod) const;
  // Counts the unbound pod on the node, with what its claims take.
  void count_assumed(const api::Pod& pod, const std::string& node);
  void changes(std::string_view node);
  void changes_everywhere() { changed_everywhere_ = ++version_; }
  // Whether something changed on the node since that version; what affects pods elsewhere, as terms do, aside.
  bool changed_since(std::string_view node, uint64_t version) const;
  void prefer(std::string_view node, NodeChoice& choice) const;

  const Clock& clock_;
  mutable placement::Cluster cluster_;
  placement::AssumedVolumes volumes_;
  placement::ObjectsByKey<api::Job> jobs_;
  std::optional<placement::NodeNumbers> numbers_;
  std::string volumes_unbindable_;
  std::map<std::string, int32_t> nominated_;  // pods that others nominated: uid -> priority
  // By uid of the pod: node by owner. Two owners are the exception, and for a moment: the first one counts.
  std::unordered_map<std::string, std::map<std::string, std::string>> places_;
  std::map<std::string, Unit> units_;                            // by owner
  std::map<std::string, api::StringMap> namespace_annotations_;  // of ours, by name
  std::multimap<std::string, Avoided, std::less<>> avoided_;     // by uid of pod or controller
  std::array<Known, kFactsKinds> known_;
  std::function<void(Facts)> needed_;
  std::optional<MonoTime> scores_needed_;  // since when
  // Of the last choose().
  struct Chosen {
    std::string uid;
    bool pinned = false;  // not chosen among all nodes
    std::shared_ptr<const placement::Decision> decision;
  };
  Chosen last_;
  std::unordered_map<std::string, std::vector<api::ClaimTakes>> takes_;  // of assumed pods, by uid; few have some
  ChoiceCache choices_;
  uint64_t version_ = 0, shapes_version_ = 0;
  // Versions of the latest change that may concern every node, and of the latest ones on a single node. At most
  // kMaxChanged of these: when there are more, they count as a change everywhere.
  uint64_t changed_everywhere_ = 0;
  std::unordered_map<std::string, uint64_t, StringHash, std::equal_to<>> changed_;
  bool supposing_ = false;
  uint64_t supposed_changes_ = 0;  // of the version of volumes: by supposed pods, which do not count
  // Supposed pods, by uid, and the node on which each was assumed before.
  std::unordered_map<std::string, std::string, StringHash, std::equal_to<>> supposed_;
};

}  // namespace dra::nodes
