// ResourceClaimStatus: what a write to /status may do (validateResourceClaimStatusUpdate of Kubernetes 1.36 and the
// status strategy of the claim registry).
#pragma once

#include "pkg/apiserver/model/field_error.h"
#include "pkg/apiserver/model/kind.h"

namespace dra::apiserver {

// Silently drops entries of status.devices whose device this write deallocates.
void drop_deallocated_devices(Json& claim, const Json& old);

// Admission-like check: new admin access results only if the namespace allows them.
void check_status_admin_access(FieldErrors& out, const WriteContext& ctx, const Json& claim, const Json& old);

// Granular authorization of status writes (1.36, DRAResourceClaimGranularStatusAuthorization): a changed allocation or
// reservation needs the request's verb on resourceclaims/binding in the whole cluster; changed entries of
// status.devices need arbitrary-node:VERB (a service account bound to the allocated node may use associated-node:VERB)
// on resourceclaims/driver of each driver's name.
void check_status_permissions(FieldErrors& out, const WriteContext& ctx, const Json& claim, const Json& old);

void check_claim_status(FieldErrors& out, const Json& claim, const Json& old);

// The State column: "deleted", "pending", "allocated", "reserved", comma-joined.
std::string claim_state(const Json& claim);

}  // namespace dra::apiserver
