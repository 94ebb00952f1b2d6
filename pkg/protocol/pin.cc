#include "pkg/protocol/pin.h"

#include <algorithm>
#include <string_view>

#include "pkg/protocol/pod_claims.h"

namespace dra::protocol {
namespace {

using Requirement = api::NodeSelectorRequirement;
using Requirements = std::vector<Requirement>;

bool has_requirements(const api::NodeSelectorTerm& term) {
  return !term.match_expressions.empty() || !term.match_fields.empty();
}

bool contains(const Requirements& all, const Requirement& one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

// "metadata.name In (n1)": users do not write matchFields, and controllers only for DaemonSets.
bool names_a_node(const Requirement& one) {
  return one.key == "metadata.name" && one.op == "In" && one.values.size() == 1;
}

// An API server bundles the oldest of more than ten managers that update an object under this name
// (structured-merge-diff, capmanagers.go).
constexpr std::string_view kAncientChanges = "ancient-changes";

// Whether the manager may have written to the pod itself. Dumps of kubectl have no managed fields: then it may.
bool may_be_pinned(const api::Pod& pod) {
  const api::OwnerReference* owner = pod.metadata.controller();
  if (owner != nullptr && owner->kind == "DaemonSet") return false;
  const auto& entries = pod.metadata.managed_fields;
  return entries.empty() || std::any_of(entries.begin(), entries.end(), [](const api::ManagedFieldsEntry& entry) {
           return entry.subresource.empty() && (entry.manager == kFieldManager || entry.manager == kAncientChanges);
         });
}

// The labels that the allocations require of a node, which lifting the gate adds to the pod.
Requirements labels_of_devices(const AllocatedClaims& claims) {
  Requirements labels;
  for (const auto& claim : claims) {
    if (!claim->status.allocation || !claim->status.allocation->node_selector) continue;
    const auto& terms = claim->status.allocation->node_selector->terms;
    if (terms.size() != 1) continue;  // the pod is then pinned to one node by name
    labels.insert(labels.end(), terms.front().match_expressions.begin(), terms.front().match_expressions.end());
  }
  return labels;
}

// The part of the pin that is in every term. What only some terms have was written by the pod's author.
api::NodeSelectorTerm pin_in(const api::NodeSelector& selector, const Requirements& labels) {
  api::NodeSelectorTerm pin;
  const auto first = std::find_if(selector.terms.begin(), selector.terms.end(), has_requirements);
  if (first == selector.terms.end()) return pin;
  const auto in_every_term = [&](Requirements api::NodeSelectorTerm::*part, const Requirement& one) {
    return std::all_of(selector.terms.begin(), selector.terms.end(), [&](const api::NodeSelectorTerm& term) {
      return !has_requirements(term) || contains(term.*part, one);
    });
  };
  for (const Requirement& one : first->match_fields)
    if (names_a_node(one) && in_every_term(&api::NodeSelectorTerm::match_fields, one)) pin.match_fields.push_back(one);
  for (const Requirement& one : first->match_expressions)
    if (contains(labels, one) && in_every_term(&api::NodeSelectorTerm::match_expressions, one))
      pin.match_expressions.push_back(one);
  return pin;
}

}  // namespace

void remove_pin(api::Pod& pod, const AllocatedClaims& claims) {
  if (!pod.node_affinity || !pod.node_affinity->required || !may_be_pinned(pod)) return;
  const api::NodeSelector pinned = *pod.node_affinity->required;
  const api::NodeSelectorTerm pin = pin_in(pinned, labels_of_devices(claims));
  api::NodeSelector& selector = *pod.node_affinity->required;
  for (api::NodeSelectorTerm& term : selector.terms) {
    std::erase_if(term.match_fields, [&](const Requirement& one) { return contains(pin.match_fields, one); });
    std::erase_if(term.match_expressions, [&](const Requirement& one) { return contains(pin.match_expressions, one); });
  }
  if (std::any_of(selector.terms.begin(), selector.terms.end(), has_requirements)) {
    // A term that consists of the pin beside others is the author's: without requirements it would match no node.
    for (size_t i = 0; i < selector.terms.size(); ++i)
      if (!has_requirements(selector.terms[i])) selector.terms[i] = pinned.terms[i];
    return;
  }
  if (!has_requirements(pin)) return;  // it matched nothing before either
  pod.node_affinity->required.reset();
  if (pod.node_affinity->preferred.empty()) pod.node_affinity.reset();
}

}  // namespace dra::protocol
