// Rules of core/v1.NodeSelector, which pods, claims' allocations and slices embed. Pure.
#pragma once

#include "pkg/apiserver/model/field_error.h"

namespace dra::apiserver {

// ValidateNodeSelector: at least one term, requirements well formed.
void check_node_selector(FieldErrors& out, const FieldPath& path, const Json& selector);
// One NodeSelectorTerm (also of preferred scheduling terms).
void check_node_selector_term(FieldErrors& out, const FieldPath& path, const Json& term);

}  // namespace dra::apiserver
