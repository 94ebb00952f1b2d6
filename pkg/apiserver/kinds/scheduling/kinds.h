// PriorityClasses; and PodGroups and Workloads of scheduling.k8s.io, v1alpha2 or from 1.37 on v1beta1: stored and
// checked as by a server with the feature gates GenericWorkload, GangScheduling and TopologyAwareWorkloadScheduling.
// They are served if ServerOptions::pod_groups is set. With CompositePodGroup (1.37) v1alpha3 is served, too.
//
// Unlike upstream, a PodGroup has no protection finalizer: nothing in the sandbox would remove it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "pkg/apiserver/kinds/folders.h"

namespace dra::apiserver {

// The version of scheduling.k8s.io that has PodGroups and Workloads: v1alpha2 in 1.36, v1beta1 from 1.37 on.
std::string version_of_pod_groups();
std::string group_version_of_pod_groups();

inline constexpr std::string_view kCompositeGate = "CompositePodGroup";
inline constexpr std::string_view kGroupClaimsGate = "DRAWorkloadResourceClaims";
inline constexpr std::string_view kGroupVersionOfComposites = "scheduling.k8s.io/v1alpha3";
// Levels of the templates of a Workload, the PodGroups' among them.
inline constexpr int kMaxTemplateDepth = 4;
// Of a namespaced kind of that version; with the gate CompositePodGroup of v1alpha3, too.
KindInfo scheduling_kind_info(const std::string& kind, const std::string& plural, const std::string& singular);

std::vector<SchemaTable> scheduling_tables();
void add_scheduling_kinds(KindRegistry& registry);

std::unique_ptr<Kind> make_priority_class_kind();
std::unique_ptr<Kind> make_pod_group_kind();
std::unique_ptr<Kind> make_workload_kind();
std::unique_ptr<Kind> make_composite_pod_group_kind();

// The policy and constraints that PodGroups and the templates of Workloads share, of a new object.
// `count_field`: what `gang` counts.
void check_scheduling_policy(FieldErrors& out, const FieldPath& path, const Json& policy,
                             const char* count_field = "minCount");
void check_scheduling_constraints(FieldErrors& out, const FieldPath& path, const Json& constraints);
// Removes the fields of gates that are off, DRAWorkloadResourceClaims (unless the old object has its field) and, before
// 1.37, WorkloadAwarePreemption.
void drop_disabled_group_fields(Json& spec, const Json& old_spec);
// resourceClaims of a group or template: at most four, of different names, each a claim or a template.
void check_group_claims(FieldErrors& out, const FieldPath& path, const Json& spec);
// From 1.37 on, of groups and templates of either kind: disruption, priority, and fields of gates that are off, which
// are forbidden.
void check_group_fields_of_137(FieldErrors& out, const FieldPath& path, const Json& spec);
// The clause that refuses a group whose Workload, or template in it, is not there.
std::optional<std::string> why_no_template(const WriteContext& ctx, const std::string& workload,
                                           const std::string& wanted, bool composite);
// "field is immutable", as declarative validation words it.
void check_unchanged(FieldErrors& out, const FieldPath& path, const Json& value, const Json& old);
// Required, and at most one label of a DNS name.
void check_short_name(FieldErrors& out, const FieldPath& path, const Json& object, const char* key);
void check_long_name(FieldErrors& out, const FieldPath& path, const Json& object, const char* key);

}  // namespace dra::apiserver
