// The parts of metav1 that this project reads: object metadata, owner references, label and node selectors, conditions.
//
// Shapes follow k8s.io/apimachinery/pkg/apis/meta/v1. The structs are plain values without invariants: they hold what a
// server sent, valid or not. Times are kept as the RFC 3339 text of the wire (pkg/base/clock.h parses them); an empty
// text means unset. Fields that this project never looks at are not kept, which is why objects are changed by patches
// only and never written back whole.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "pkg/api/shared_list.h"

namespace dra::api {

using StringMap = std::map<std::string, std::string, std::less<>>;

struct OwnerReference {
  std::string api_version;
  std::string kind;
  std::string name;
  std::string uid;
  bool controller = false;
  bool operator==(const OwnerReference&) const = default;
};

// Which field manager wrote last to which subresource. Of the managed fields only one bit is kept (nominates_node).
struct ManagedFieldsEntry {
  std::string manager;
  std::string operation;        // "Apply" or "Update"
  std::string subresource;      // "" for the main resource
  bool nominates_node = false;  // the manager applied status.nominatedNodeName and holds it
  bool operator==(const ManagedFieldsEntry&) const = default;
};

struct ObjectMeta {
  std::string name;
  std::string generate_name;
  std::string ns;  // metadata.namespace; empty for cluster-scoped kinds
  std::string uid;
  std::string resource_version;
  int64_t generation = 0;
  std::string creation_timestamp;
  std::string deletion_timestamp;  // empty: not being deleted
  StringMap labels;
  StringMap annotations;
  std::vector<std::string> finalizers;
  std::vector<OwnerReference> owner_references;
  SharedList<ManagedFieldsEntry> managed_fields;

  bool deleting() const { return !deletion_timestamp.empty(); }
  // The owner reference with controller=true, or nullptr.
  const OwnerReference* controller() const {
    for (const OwnerReference& owner : owner_references)
      if (owner.controller) return &owner;
    return nullptr;
  }
  bool has_finalizer(std::string_view finalizer) const {
    for (const std::string& f : finalizers)
      if (f == finalizer) return true;
    return false;
  }
  // "namespace/name", or "name" for cluster-scoped objects: the key of stores and queues.
  std::string key() const { return ns.empty() ? name : ns + "/" + name; }
  bool operator==(const ObjectMeta&) const = default;
};

// metav1.Condition and the older condition types, as far as they are the same. A decoded message is cut at
// kMaxConditionText bytes; ours are shorter.
inline constexpr size_t kMaxConditionText = 2048;
struct Condition {
  std::string type;
  std::string status;  // "True", "False", "Unknown"
  std::string reason;
  std::string message;
  std::string last_transition_time;
  int64_t observed_generation = 0;
  bool operator==(const Condition&) const = default;
};

struct LabelSelectorRequirement {
  std::string key;
  std::string op;  // In, NotIn, Exists, DoesNotExist
  std::vector<std::string> values;
  bool operator==(const LabelSelectorRequirement&) const = default;
};

struct LabelSelector {
  StringMap match_labels;
  std::vector<LabelSelectorRequirement> match_expressions;
  bool operator==(const LabelSelector&) const = default;
};

// corev1.NodeSelector: OR of terms, each an AND of its requirements. A term without requirements matches nothing.
struct NodeSelectorRequirement {
  std::string key;
  std::string op;  // In, NotIn, Exists, DoesNotExist, Gt, Lt
  std::vector<std::string> values;
  bool operator==(const NodeSelectorRequirement&) const = default;
};

struct NodeSelectorTerm {
  std::vector<NodeSelectorRequirement> match_expressions;
  std::vector<NodeSelectorRequirement> match_fields;  // only metadata.name is defined
  bool operator==(const NodeSelectorTerm&) const = default;
};

struct NodeSelector {
  std::vector<NodeSelectorTerm> terms;
  bool operator==(const NodeSelector&) const = default;
};

// The node names to which the selector is restricted (metadata.name In, as in allocations of node-local devices);
// nullptr if it is not restricted by name.
inline const std::vector<std::string>* named_nodes(const NodeSelector& selector) {
  if (selector.terms.size() != 1) return nullptr;
  for (const NodeSelectorRequirement& field : selector.terms.front().match_fields)
    if (field.key == "metadata.name" && field.op == "In") return &field.values;
  return nullptr;
}

}  // namespace dra::api
