// PodSpec: defaults and rules shared by pods and the templates of workloads (kubernetes/pkg/apis/core, v1/defaults.go
// and validation, 1.36), to the extent that clients of this server need them.
#pragma once

#include <string>

#include "pkg/apiserver/model/field_error.h"

namespace dra::apiserver {

// Defaults of a PodSpec in any object. Idempotent.
void default_pod_spec(Json& spec);
// Defaults of a Pod only: requests from limits, enableServiceLinks. `spec` is the pod's.
void default_pod_only(Json& spec);

// Validation of a whole spec at `path`.
void check_pod_spec(FieldErrors& out, const FieldPath& path, const Json& spec);
// Containers at spec.<field> (pod_containers.cc); names seen so far are remembered in `names`.
void check_containers(FieldErrors& out, const FieldPath& path, const Json& spec);
void check_tolerations(FieldErrors& out, const FieldPath& path, const Json& tolerations);
void check_pod_claims(FieldErrors& out, const FieldPath& path, const Json& claims);
void check_affinity(FieldErrors& out, const FieldPath& path, const Json& affinity);

// What a write to an existing pod may change.
void check_pod_update(FieldErrors& out, const Json& pod, const Json& old);
// status.resourceClaimStatuses and extendedResourceClaimStatus against the spec.
void check_pod_status(FieldErrors& out, const Json& pod);
// A status that nominates a new node: checks the name, and that the pod is not bound yet.
void check_nominated_node(FieldErrors& out, const Json& pod, const Json& old);

// "Guaranteed", "Burstable" or "BestEffort".
std::string qos_class(const Json& spec);

}  // namespace dra::apiserver
