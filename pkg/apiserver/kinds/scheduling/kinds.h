// PriorityClasses; and PodGroups and Workloads of scheduling.k8s.io, v1alpha2 or from 1.37 on v1beta1: stored and
// checked as by a server with the feature gates GenericWorkload, GangScheduling and TopologyAwareWorkloadScheduling.
// They are served if ServerOptions::pod_groups is set.
//
// Unlike upstream, a PodGroup has no protection finalizer: nothing in the sandbox would remove it.
#pragma once

#include <string>

#include "pkg/apiserver/kinds/folders.h"

namespace dra::apiserver {

// The version of scheduling.k8s.io that has PodGroups and Workloads: v1alpha2 in 1.36, v1beta1 from 1.37 on.
std::string version_of_pod_groups();
std::string group_version_of_pod_groups();

std::vector<SchemaTable> scheduling_tables();
void add_scheduling_kinds(KindRegistry& registry);

std::unique_ptr<Kind> make_priority_class_kind();
std::unique_ptr<Kind> make_pod_group_kind();
std::unique_ptr<Kind> make_workload_kind();

// The policy and constraints that PodGroups and the templates of Workloads share, of a new object.
void check_scheduling_policy(FieldErrors& out, const FieldPath& path, const Json& policy);
void check_scheduling_constraints(FieldErrors& out, const FieldPath& path, const Json& constraints);
// Removes the fields of gates that are off: WorkloadAwarePreemption, DRAWorkloadResourceClaims.
void drop_disabled_group_fields(Json& spec);
// "field is immutable", as declarative validation words it.
void check_unchanged(FieldErrors& out, const FieldPath& path, const Json& value, const Json& old);
// Required, and at most one label of a DNS name.
void check_short_name(FieldErrors& out, const FieldPath& path, const Json& object, const char* key);
void check_long_name(FieldErrors& out, const FieldPath& path, const Json& object, const char* key);

}  // namespace dra::apiserver
