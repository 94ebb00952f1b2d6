// Does a node satisfy a node selector? (k8s.io/component-helpers/scheduling/corev1/nodeaffinity)
#pragma once

#include <string_view>

#include "pkg/api/meta.h"

namespace dra::inventory {

// Terms are OR-ed, requirements AND-ed; a term without requirements matches nothing; unknown operators match nothing.
bool term_matches(const api::NodeSelectorTerm& term, std::string_view node_name, const api::StringMap& labels);
bool node_matches(const api::NodeSelector& selector, std::string_view node_name, const api::StringMap& labels);

}  // namespace dra::inventory
