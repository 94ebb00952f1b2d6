// NodeChooser: the nodes a pod could run on, devices aside. It puts pkg/placement behind the one question that the
// allocation controller asks.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pkg/allocator/allocator.h"
#include "pkg/api/core.h"
#include "pkg/api/storage.h"
#include "pkg/base/clock.h"
#include "pkg/gang/gang.h"
#include "pkg/placement/cluster.h"
#include "pkg/verdict/nodes.h"

namespace dra::nodes {

struct NodeChoice {
  std::vector<std::string_view> nodes;  // best first; valid until the chooser learns something new
  // When there are none: why, in kube-scheduler's form ("0/3 nodes are available: 2 Insufficient cpu, ...").
  std::string why_none;
  // Some node was refused because of where other pods are or are not (affinity, spreading).
  bool depends_on_pods = false;
  // A node is avoided for this long (reconcile::AvoidNodes), and may be chosen after it.
  std::optional<Duration> ask_again;
  // There are none only because something is not listed yet, or two watches disagree for a moment: this is not a reason
  // to withdraw or leave anything.
  bool watch_lags = false;
  // One per node, for strategies that compare all nodes; empty when unknown. The node that the pod was promised is
  // preferred to every other.
  std::vector<allocator::NodeFacts> facts{};
  int64_t cpu_milli = 0;  // that the pod requests
  // The inventory's numbers of the nodes, one per node; empty when the chooser does not know them (see numbers_of()).
  std::vector<allocator::NodeId> numbers{};
  // Some node was refused because of what others use there (or may be): a pod that leaves may change that.
  bool depends_on_capacity = true;
  bool why_is_whole = false;  // nothing that nodes lack belongs to why_none

  // Drops the nodes for which `drop` is true, and their facts and numbers; returns how many.
  template <class Predicate>
  size_t drop_nodes(Predicate drop) {
    size_t kept = 0;
    const size_t before = nodes.size();
    for (size_t i = 0; i < before; ++i) {
      if (drop(nodes[i])) continue;
      nodes[kept] = nodes[i];
      if (!facts.empty()) facts[kept] = facts[i];
      if (!numbers.empty()) numbers[kept] = numbers[i];
      ++kept;
    }
    nodes.resize(kept);
    if (kept < before) depends_on_capacity = true;  // the caller's reason is unknown here
    if (!facts.empty()) facts.resize(kept);
    if (!numbers.empty()) numbers.resize(kept);
    return before - kept;
  }
};

// The inventory's numbers of the nodes of a choice, in its order.
inline std::vector<allocator::NodeId> numbers_of(const NodeChoice& choice, inventory::Inventory& inventory) {
  if (!choice.numbers.empty()) return choice.numbers;
  std::vector<allocator::NodeId> numbers;
  numbers.reserve(choice.nodes.size());
  for (const std::string_view node : choice.nodes) numbers.push_back(inventory.node_id(node));
  return numbers;
}

// What the volumes of a pod still need before it is bound to a node. The objects are the newest known ones.
struct VolumeNeeds {
  using Claim = std::shared_ptr<const api::PersistentVolumeClaim>;
  struct Pair {
    Claim claim;
    std::shared_ptr<const api::PersistentVolume> volume;  // the one that the claim gets
  };
  std::vector<Pair> bind;
  std::vector<Claim> provision;  // a volume must be made for the node
  bool done() const { return bind.empty() && provision.empty(); }
};

class NodeChooser {
 public:
  virtual ~NodeChooser() = default;
  // `only` restricts the choice to nodes of these names; empty means all.
  virtual NodeChoice choose(const api::Pod& pod, const std::vector<std::string>& only) = 0;
  // Why the last choose() for this pod refused nodes; no
  // groups when unknown. Valid as long as its choice.
  virtual verdict::NodeFindings findings(const api::Pod&) { return {}; }
  // True when the node (by name) satisfies the selector of an allocation.
  virtual bool matches(const api::NodeSelector& selector, const std::string& node) = 0;
  virtual std::vector<std::string> all_nodes() = 0;
  // For a pod for which choose() returned the node.
  virtual VolumeNeeds volumes(const api::Pod&, const std::string& /*node*/) { return {}; }
  // The value of a label of the namespace, empty if it has none; nothing while namespaces are not known.
  virtual std::optional<std::string> namespace_label(const std::string& /*ns*/, const std::string& /*key*/) {
    return std::nullopt;
  }
  // The annotations of ours that the namespace has; nothing while namespaces are not known.
  virtual std::optional<api::StringMap> namespace_annotations(const std::string& /*ns*/) { return std::nullopt; }
  struct JobPolicy {
    std::string pod_replacement_policy;  // empty: unknown
    std::string why_unknown;             // empty: it is still being read
    // How many more pods may fail before the Job does; nothing if it does not count evicted pods.
    std::optional<int64_t> failures_left{};
  };
  // The policy of the Job with this uid.
  virtual JobPolicy job_policy(const std::string& /*ns*/, const std::string& /*name*/, const std::string& /*uid*/) {
    return {};
  }
  // All that choose() reads of the pod, as a text: pods with equal texts have the same choice at any time. Empty:
  // unknown, so no other pod is like it.
  virtual std::string shape(const api::Pod&) const { return ""; }
  // Where shape() of `a` is not empty. True only if that of `b` is the same; costs less than making it.
  virtual bool have_same_shape(const api::Pod& /*a*/, const api::Pod& /*b*/) const { return false; }

  // Grows when shape() may have become another text for a pod that did not change.
  virtual uint64_t shapes_version() const { return 0; }
  // The facts behind all this, for pkg/preempt, which changes them for one question and restores them before it
  // returns. Null: unknown.
  virtual placement::Cluster* cluster() { return nullptr; }
  // The uids of the pods without a node that count on the node that somebody nominated for them.
  virtual std::vector<std::string> nominated() const { return {}; }
  // Pods that were promised places together (pkg/protocol/promise.h) count there, as pods do that somebody nominated;
  // not for each other's choices. Replaces what this owner's promise said before; no places: it has none.
  // `known`: those of the pods, the ones before included, that wait.
  struct PromisedPlace {
    std::string uid;
    std::string node;
  };
  virtual void set_places(const std::string& /*owner*/, const std::vector<PromisedPlace>& /*places*/,
                          const std::vector<const api::Pod*>& /*known*/) {}
  // The node on which the pod counts now; empty: none, or unknown. Valid until the next change.
  virtual std::string_view counts_on(const api::Pod&) const { return ""; }

  // For counting (pkg/gang): what the pod takes of its node; nothing: unknown. And what each of the nodes has left for
  // these pods at most, if neither they nor nominated pods counted there; empty: unknown.
  virtual std::optional<gang::Resources> takes(const api::Pod&) const { return std::nullopt; }
  virtual std::vector<gang::Resources> left_for(const std::vector<const api::Pod*>& /*pods*/,
                                                const std::vector<std::string>& /*nodes*/) const {
    return {};
  }
  // How much more devices of the pod may take of each node, by name and resource (placement::RoomForDevices). Empty:
  // unknown. Valid until the next change.
  virtual std::function<api::Quantity(const std::string& node, const std::string& resource)> room_for(
      const api::Pod&) const {
    return nullptr;
  }
  // Counts the pod on the node until stop_supposing(), within
  // one search (controllers/allocation/pod/group_nodes.h). Undo in reverse order.
  virtual void suppose(const api::Pod&, const std::string& /*node*/) {}
  virtual void stop_supposing(const api::Pod&) {}
  // Grows with every change of what choose() reads, except by these two calls and in the volumes of pods.
  virtual uint64_t version() const { return 0; }
  // True only if choose() would accept the node for the pod as it did at that version(): nothing that concerns the pod
  // and the node has changed since. Costs a fraction of choose().
  virtual bool still_takes(const api::Pod&, const std::string& /*node*/, uint64_t /*version*/) const { return false; }
  // Grows with every change of what choose() reads of volumes, their claims, classes and drivers.
  virtual uint64_t volumes_version() const { return 0; }
};

}  // namespace dra::nodes
