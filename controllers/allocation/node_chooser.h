// NodeChooser: the nodes a pod could run on, devices aside. pkg/placement's knowledge behind the one question that the
// allocation controller asks.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pkg/allocator/allocator.h"
#include "pkg/api/core.h"
#include "pkg/api/storage.h"
#include "pkg/base/clock.h"
#include "pkg/verdict/nodes.h"

namespace dra::allocation {

struct NodeChoice {
  std::vector<std::string_view> nodes;  // best first; valid until the chooser learns something new
  // Where there are none: why, as kube-scheduler counts it ("0/3 nodes are available: 2 Insufficient cpu, ...").
  std::string why_none;
  // Some node was refused because of where other pods are, or are not (affinity, spreading).
  bool depends_on_pods = false;
  // A node is avoided until then (reconcile::AvoidNodes): it may be chosen again.
  std::optional<Duration> ask_again;
  // There are none only because something is not listed yet, or two watches disagree for a moment: nothing is given
  // back for that.
  bool watch_lags = false;
  // Of the nodes, one by one, for strategies that weigh all of them; empty where nobody can say. The node that the pod
  // was promised is preferred to every other.
  std::vector<allocator::NodeFacts> facts{};
  int64_t cpu_milli = 0;  // that the pod wants
  // The inventory's numbers of the nodes, one by one; empty where the chooser does not know them (see numbers_of()).
  std::vector<allocator::NodeId> numbers{};
  // Some node was refused for what others have there (or nobody can say): a pod that leaves may change that.
  bool depends_on_room = true;

  // Drops the nodes of which `drop` is true, and what is known of them; returns how many.
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
    if (kept < before) depends_on_room = true;  // the reason is the caller's
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

// What the volumes of a pod still need before it is bound to a node. The objects are the newest that are known.
struct VolumeNeeds {
  using Claim = std::shared_ptr<const api::PersistentVolumeClaim>;
  struct Pair {
    Claim claim;
    std::shared_ptr<const api::PersistentVolume> volume;  // that the claim gets
  };
  std::vector<Pair> bind;
  std::vector<Claim> provision;  // a volume is to be made for the node
  bool done() const { return bind.empty() && provision.empty(); }
};

class NodeChooser {
 public:
  virtual ~NodeChooser() = default;
  // `only` restricts the choice to nodes of these names; empty means all.
  virtual NodeChoice choose(const api::Pod& pod, const std::vector<std::string>& only) = 0;
  // What is wrong with the nodes that the last choose() for this pod refused; no groups where nobody can say. Valid as
  // long as its choice.
  virtual verdict::NodeFindings findings(const api::Pod&) { return {}; }
  // The node (by name) satisfies the selector of an allocation.
  virtual bool matches(const api::NodeSelector& selector, const std::string& node) = 0;
  virtual std::vector<std::string> all_nodes() = 0;
  // Of a pod for which choose() named the node.
  virtual VolumeNeeds volumes(const api::Pod&, const std::string& /*node*/) { return {}; }
  // The value of a label of the namespace, empty where it has none; nothing while namespaces are not known.
  virtual std::optional<std::string> namespace_label(const std::string& /*ns*/, const std::string& /*key*/) {
    return std::nullopt;
  }
  struct JobPolicy {
    std::string pod_replacement_policy;  // empty: not known
    std::string why_unknown;             // empty: it is only being read
    // How many pods may still fail before the Job does; nothing where it does not count evicted ones.
    std::optional<int64_t> failures_left{};
  };
  // Of the Job of this uid.
  virtual JobPolicy job_policy(const std::string& /*ns*/, const std::string& /*name*/, const std::string& /*uid*/) {
    return {};
  }
  // How often nodes were avoided for the pods of this controller (reconcile::AvoidNodes), as far as is remembered.
  virtual uint32_t times_avoided(const std::string& /*uid*/) const { return 0; }
  // All that choose() reads of the pod, as a text: at any time pods with equal texts have the same choice. Empty:
  // nobody can say, so the pod is like no other.
  virtual std::string shape(const api::Pod&) const { return ""; }

  // For the length of one search (group_nodes.h): the pod counts as one of the node, until that is undone. Undone in
  // reverse order.
  virtual void suppose(const api::Pod&, const std::string& /*node*/) {}
  virtual void stop_supposing(const api::Pod&) {}
  // Grows with every change of what choose() reads, but those two; the volumes of pods aside.
  virtual uint64_t version() const { return 0; }
};

}  // namespace dra::allocation
