// Node selectors: does a node match? Semantics of corev1.NodeSelector as in k8s.io/component-helpers nodeaffinity.
//
// Terms are OR-ed, the requirements of a term AND-ed; a term without requirements, a selector without terms, an unknown
// operator and an unknown field match nothing. NotIn and DoesNotExist match a missing label. Gt and Lt compare decimal
// integers; a label or bound that is none does not match. Pure.
#pragma once

#include <string>

#include "pkg/api/meta.h"

namespace dra::placement {

// A node as selectors see it: its name (metadata.name) and labels.
bool matches(const api::NodeSelectorTerm& term, const std::string& node_name, const api::StringMap& labels);
bool matches(const api::NodeSelector& selector, const std::string& node_name, const api::StringMap& labels);
// pod.spec.nodeSelector: every entry is a label of the node.
bool has_labels(const api::StringMap& wanted, const api::StringMap& labels);

}  // namespace dra::placement
