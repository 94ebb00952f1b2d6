#include "pkg/manager/permit/permissions.h"

#include <algorithm>

#include "controllers/all.h"
#include "controllers/allocation/options.h"
#include "pkg/base/strings.h"
#include "pkg/manager/options.h"

namespace dra::manager {

namespace {

// Writes are merge and apply patches, hence patch; update is for the Lease and for claims that take no patch
// (client/writer/metadata_put.h). get is for live GETs.
std::vector<PermissionRole> make_roles() {
  std::vector<PermissionRole> roles;
  for (const reconcile::Controller* controller : all_controllers())
    for (const reconcile::Role& role : controller->roles)
      roles.push_back({role.name, controller->name, role.without, "", role.rules, &role});
  const PermissionRole own[] = {
      {kNamespacesRole,
       "",
       "pods whose affinity selects namespaces by label wait",
       "",
       {{"", "namespaces", {"list", "watch"}, ""}}},
      {kVolumesRole,
       "",
       "pods with PersistentVolumeClaims wait",
       "",
       {{"", "persistentvolumeclaims", {"list", "watch"}, ""},
        {"", "persistentvolumes", {"list", "watch"}, ""},
        {"storage.k8s.io", "csidrivers", {"list", "watch"}, ""},
        {"storage.k8s.io", "csinodes", {"list", "watch"}, ""},
        {"storage.k8s.io", "csistoragecapacities", {"list", "watch"}, ""},
        {"storage.k8s.io", "storageclasses", {"list", "watch"}, ""},
        {"storage.k8s.io", "volumeattachments", {"list", "watch"}, ""}}},
      {kBindVolumesRole,
       "",
       "pods with PersistentVolumeClaims wait; --scheduling=gate does not need it",
       "",
       {{"", "persistentvolumeclaims", {"get", "patch"}, ""}, {"", "persistentvolumes", {"get", "patch"}, ""}}},
      {kUpdateClaimsRole,
       "",
       "claims whose opaque parameters have blanks between JSON tokens are neither proven nor released",
       "",
       {{"resource.k8s.io", "resourceclaims", {"update"}, ""},
        {"resource.k8s.io", "resourceclaims/binding", {"update"}, ""},
        {"resource.k8s.io", "resourceclaims/status", {"update"}, ""}}},
      {kWorkloadsRole,
       "",
       "pods of ReplicaSets and the like are not spread by default",
       "",
       {{"", "replicationcontrollers", {"list", "watch"}, ""},
        {"", "services", {"list", "watch"}, ""},
        {"apps", "replicasets", {"list", "watch"}, ""},
        {"apps", "statefulsets", {"list", "watch"}, ""}}},
      {kJobsRole,
       "",
       "pods of Jobs are not recreated; without --recreate-pinned-pods it is not needed",
       "",
       {{"batch", "jobs", {"list", "watch"}, ""}}},
      {kGroupsRole,
       "",
       "pods of PodGroups are placed one by one",
       "",
       {{"scheduling.k8s.io", "podgroups", {"list", "watch"}, ""},
        {"scheduling.x-k8s.io", "podgroups", {"list", "watch"}, ""}}},
      {kCompositesRole,
       "",
       "pods whose PodGroup is below a CompositePodGroup wait",
       "",
       {{"scheduling.k8s.io", "compositepodgroups", {"list", "watch"}, ""}}},
      {kUsageRole,
       "",
       "who used what is not counted; --usage=off does not need it",
       kOfTheLease,
       {{"", "configmaps", {"create"}, ""}, {"", "configmaps", {"get", "patch"}, std::string(kOfTheUsage)}}},
      {"events", "", "no events are recorded", "", {{"events.k8s.io", "events", {"create", "patch"}, ""}}},
      {"component-probe",
       "",
       "whether kube-controller-manager and kube-scheduler run is not known",
       "kube-system",
       {{"coordination.k8s.io", "leases", {"get"}, "kube-controller-manager"},
        {"coordination.k8s.io", "leases", {"get"}, "kube-scheduler"}}},
      {"leader-election",
       "",
       "nobody can become the leader",
       kOfTheLease,
       {{"coordination.k8s.io", "leases", {"create"}, ""},
        {"coordination.k8s.io", "leases", {"get", "update"}, std::string(kOfTheLease)}}},
  };
  roles.insert(roles.end(), std::begin(own), std::end(own));
  return roles;
}

}  // namespace

bool controller_runs(const ManagerOptions& options, std::string_view name) {
  const auto& chosen = options.settings.controllers;
  const reconcile::Controller* controller = find_controller(name);
  if (!controller || std::find(chosen.begin(), chosen.end(), name) == chosen.end()) return false;
  return !controller->runs || controller->runs(settings_of(options));
}

const std::vector<PermissionRole>& permission_roles() {
  static const std::vector<PermissionRole> roles = make_roles();
  return roles;
}

std::vector<const PermissionRole*> needed_roles(const ManagerOptions& options) {
  const reconcile::Settings settings = settings_of(options);
  std::vector<const PermissionRole*> needed;
  for (const PermissionRole& role : permission_roles()) {
    if (role.ns == kOfTheLease && !options.lease) continue;
    if (!role.controller.empty() && !controller_runs(options, role.controller)) continue;
    if (role.described && role.described->needed && !role.described->needed(settings)) continue;
    if (role.controller.empty() && role.name.starts_with("allocation-") && !controller_runs(options, "allocation"))
      continue;
    if (role.name == kBindVolumesRole && options.settings.scheduling != reconcile::Scheduling::kBind) continue;
    if (role.name == kUpdateClaimsRole &&
        (options.settings.scheduling == reconcile::Scheduling::kObserve ||
         (!controller_runs(options, "allocation") && !controller_runs(options, "lifecycle"))))
      continue;
    if (role.name == kUsageRole && (!options.usage || options.settings.scheduling == reconcile::Scheduling::kObserve))
      continue;
    if (role.name == kJobsRole && !reconcile::switched_on(settings, allocation::kRecreateFlag)) continue;
    needed.push_back(&role);
  }
  return needed;
}

std::vector<client::Permission> permissions_of(const PermissionRole& role, const ManagerOptions& options) {
  const bool reads_only =
      role.described && role.described->reads_only && role.described->reads_only(settings_of(options));
  std::vector<client::Permission> permissions;
  for (const PermissionRule& rule : role.rules) {
    const size_t slash = rule.resource.find('/');
    client::Permission permission;
    permission.group = rule.group;
    permission.resource = rule.resource.substr(0, slash);
    if (slash != std::string::npos) permission.subresource = rule.resource.substr(slash + 1);
    permission.name = rule.name;
    if (rule.name == kOfTheLease) permission.name = options.lease ? options.lease->name : "";
    permission.ns = role.ns == kOfTheLease && options.lease ? options.lease->ns : std::string(role.ns);
    if (rule.name == kOfTheUsage) permission.name = options.usage ? options.usage->name : "";
    for (const std::string& verb : rule.verbs) {
      if (reads_only && verb != "get" && verb != "list" && verb != "watch") continue;
      permission.verb = verb;
      permissions.push_back(permission);
    }
  }
  return permissions;
}

std::string permission_text(const client::Permission& permission) {
  std::string text = permission.verb + " " + permission.resource;
  if (!permission.subresource.empty()) text += "/" + permission.subresource;
  if (!permission.group.empty()) text += "." + permission.group;
  if (!permission.name.empty()) text += " " + quote(permission.name);
  if (!permission.ns.empty()) text += " in namespace " + quote(permission.ns);
  return text;
}

bool may_watch(const PermissionRole& role, std::string_view plural) {
  return std::any_of(role.rules.begin(), role.rules.end(), [&](const PermissionRule& rule) {
    return rule.resource == plural && std::find(rule.verbs.begin(), rule.verbs.end(), "watch") != rule.verbs.end();
  });
}

}  // namespace dra::manager
