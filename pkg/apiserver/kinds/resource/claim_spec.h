// ResourceClaimSpec: defaults, conversion of v1beta1's flat requests, and validation of new specs; claims and claim
// templates share it.
#pragma once

#include "pkg/apiserver/model/field_error.h"
#include "pkg/apiserver/model/kind.h"

namespace dra::apiserver {

// allocationMode and count of requests and subrequests, operators of tolerations. `spec` is a ResourceClaimSpec.
void default_claim_spec(Json& spec);

// v1beta1 has the fields of `exactly` on the request itself and always prints deviceClassName.
void claim_spec_from_v1beta1(Json& spec);
void claim_spec_to_v1beta1(Json& spec);

// Validation of a new spec at `path` ("spec", "spec.spec").
void check_claim_spec(FieldErrors& out, const FieldPath& path, const Json& spec);

// Requests with adminAccess need a label on the namespace. Reports only the first one, always at
// spec.devices.requests[i], whatever contains the spec, as upstream does.
void check_admin_access(FieldErrors& out, const WriteContext& ctx, const Json& spec);
// The refusal for one field, if the namespace lacks the label.
void check_admin_namespace(FieldErrors& out, const WriteContext& ctx, const FieldPath& path);

}  // namespace dra::apiserver
