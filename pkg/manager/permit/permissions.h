// Permissions: what the manager needs from the API server, as roles: those that the controllers describe, and a few of
// its own. The preflight asks for exactly these, informers run only for kinds that a permitted controller may watch,
// and a test compares the ClusterRoles in charts/ with them. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "client/rest/discovery.h"
#include "pkg/reconcile/controller.h"

namespace dra::manager {

struct ManagerOptions;

using PermissionRule = reconcile::PermissionRule;

struct PermissionRole {
  std::string_view name;  // of the (Cluster)Role in charts/, after "dra-controller-manager:"
  // The controller that stays off without the role; empty: none does.
  std::string_view controller;
  // What does not work without the role, after "missing permission: ... (".
  std::string_view without;
  // In this namespace instead of the whole cluster; "$lease" means the namespace of the leader election.
  std::string_view ns;
  std::vector<PermissionRule> rules;
  const reconcile::Role* described = nullptr;  // if described by its controller
};

// A rule's name or a role's namespace that represents those of the leader election's Lease.
inline constexpr std::string_view kOfTheLease = "$lease";

// A rule's name that represents that of the object with the totals of usage.
inline constexpr std::string_view kOfTheUsage = "$usage";

// True when this configuration runs the controller.
bool controller_runs(const ManagerOptions& options, std::string_view controller);

// What allocation needs only for pods whose affinity selects namespaces by label, for pods with PersistentVolumeClaims,
// and for the scores of pods that ReplicaSets and the like made.
inline constexpr std::string_view kNamespacesRole = "allocation-namespaces";
inline constexpr std::string_view kVolumesRole = "allocation-volumes";
inline constexpr std::string_view kBindVolumesRole = "allocation-bind-volumes";
inline constexpr std::string_view kWorkloadsRole = "allocation-workloads";
// For claims that take no patch of their metadata (client/writer/metadata_put.h).
inline constexpr std::string_view kUpdateClaimsRole = "update-claims";
// For --recreate-pinned-pods with pods of Jobs.
inline constexpr std::string_view kJobsRole = "allocation-recreate-jobs";
// Reads PodGroups, where they are served (group_watches.h).
inline constexpr std::string_view kGroupsRole = "allocation-groups";
inline constexpr std::string_view kCompositesRole = "allocation-composites";
// Counts who used what (pkg/manager/report/usage_reporter.h).
inline constexpr std::string_view kUsageRole = "usage";

// The controllers' roles, in the order of controllers/list.inc; then those of allocation that only single pods need,
// events, component-probe and leader-election.
const std::vector<PermissionRole>& permission_roles();

// The roles that this configuration needs.
std::vector<const PermissionRole*> needed_roles(const ManagerOptions& options);
// Each permission of the role by itself.
std::vector<client::Permission> permissions_of(const PermissionRole& role, const ManagerOptions& options);
// "create resourceclaims.resource.k8s.io", "patch pods/status", `get leases.coordination.k8s.io "x" in namespace "y"`.
std::string permission_text(const client::Permission& permission);
// True when the role lets its holder watch this kind.
bool may_watch(const PermissionRole& role, std::string_view plural);

}  // namespace dra::manager
