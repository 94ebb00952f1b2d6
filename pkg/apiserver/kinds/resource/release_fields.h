// The fields of resource.k8s.io that 1.37 added: what a server drops whose gate is off, and what it checks.
#pragma once

#include "pkg/apiserver/kinds/resource/parts.h"

namespace dra::apiserver {

// Of slices and claims (spec): fields of gates that are off are dropped unless the old object has them.
void drop_slice_fields_of_137(Json& spec, const Json& old_spec);
void drop_claim_fields_of_137(Json& spec, const Json& old_spec);

void check_slice_fields_of_137(FieldErrors& out, const FieldPath& path, const Json& spec, const Json& old_spec);
void check_claim_fields_of_137(FieldErrors& out, const FieldPath& path, const Json& spec);

// From 1.38 on a name with two slashes is refused; `old_map`: the names that the stored object has stay valid.
void check_slashes(FieldErrors& out, const FieldPath& path, const std::string& name, const Json& old_map);
// From 1.38 on the node selector of a device has one term, unless the stored device had this one.
void check_one_term(FieldErrors& out, const FieldPath& path, const Json& selector, const Json& old_selector);

}  // namespace dra::apiserver
