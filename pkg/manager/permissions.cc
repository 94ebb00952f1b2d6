#include "pkg/manager/permissions.h"

#include <algorithm>

#include "pkg/base/strings.h"
#include "pkg/manager/manager.h"

namespace dra::manager {

namespace {

constexpr const char* kDra = "resource.k8s.io";
constexpr std::string_view kLease = "$lease";

const std::vector<std::string> kGetListWatch = {"get", "list", "watch"};
const std::vector<std::string> kListWatch = {"list", "watch"};

// Writes are merge and apply patches, hence patch and never update. get is for what is confirmed by a live read.
std::vector<PermissionRole> make_roles() {
  return {
      {"claimtemplate",
       "claimtemplate",
       "controller claimtemplate is off",
       "",
       {{"", "pods", kGetListWatch, ""},
        {"", "pods/status", {"patch"}, ""},
        {kDra, "resourceclaims", {"create", "get", "list", "watch"}, ""},
        {kDra, "resourceclaimtemplates", kGetListWatch, ""}}},
      {"allocation",
       "allocation",
       "controller allocation is off",
       "",
       {{"", "nodes", kListWatch, ""},
        {"", "pods", {"get", "list", "patch", "watch"}, ""},
        {kDra, "deviceclasses", kListWatch, ""},
        {kDra, "resourceclaims", {"get", "list", "patch", "watch"}, ""},
        {kDra, "resourceclaims/binding", {"patch"}, ""},
        {kDra, "resourceclaims/status", {"patch"}, ""},
        {kDra, "resourceslices", kListWatch, ""}}},
      {"allocation-bind",
       "allocation",
       "controller allocation is off; --scheduling=gate does not need it",
       "",
       {{"", "pods/binding", {"create"}, ""}}},
      {"lifecycle",
       "lifecycle",
       "controller lifecycle is off",
       "",
       {{"", "pods", kGetListWatch, ""},
        {kDra, "resourceclaims", {"delete", "get", "list", "patch", "watch"}, ""},
        {kDra, "resourceclaims/binding", {"patch"}, ""},
        {kDra, "resourceclaims/status", {"patch"}, ""}}},
      {"tainteviction",
       "tainteviction",
       "controller tainteviction is off",
       "",
       {{"", "pods", {"delete", "get", "list", "watch"}, ""},
        {"", "pods/status", {"patch"}, ""},
        {kDra, "resourceclaims", kListWatch, ""},
        {kDra, "resourceslices", kListWatch, ""}}},
      {"events", "", "no events are recorded", "", {{"events.k8s.io", "events", {"create", "patch"}, ""}}},
      {"neighbours",
       "",
       "whether kube-controller-manager and kube-scheduler run is not known",
       "kube-system",
       {{"coordination.k8s.io", "leases", {"get"}, "kube-controller-manager"},
        {"coordination.k8s.io", "leases", {"get"}, "kube-scheduler"}}},
      {"leader-election",
       "",
       "nobody can become the leader",
       kLease,
       {{"coordination.k8s.io", "leases", {"create"}, ""},
        {"coordination.k8s.io", "leases", {"get", "update"}, std::string(kLease)}}},
  };
}

}  // namespace

bool controller_runs(const ManagerOptions& options, std::string_view controller) {
  if (std::find(options.controllers.begin(), options.controllers.end(), controller) == options.controllers.end())
    return false;
  const bool observes = options.allocation.mode == allocation::Mode::kObserve;
  if (controller == "claimtemplate") return options.claim_templates == ClaimTemplates::kOwn;
  if (controller == "lifecycle") return !observes;
  if (controller == "tainteviction") return !observes && options.features.device_taints;
  return true;
}

const std::vector<PermissionRole>& permission_roles() {
  static const std::vector<PermissionRole> roles = make_roles();
  return roles;
}

std::vector<const PermissionRole*> needed_roles(const ManagerOptions& options) {
  std::vector<const PermissionRole*> needed;
  for (const PermissionRole& role : permission_roles()) {
    if (role.ns == kLease && !options.lease) continue;
    if (!role.controller.empty() && !controller_runs(options, role.controller)) continue;
    if (role.name == "allocation-bind" && options.allocation.mode != allocation::Mode::kBind) continue;
    needed.push_back(&role);
  }
  return needed;
}

std::vector<client::Permission> permissions_of(const PermissionRole& role, const ManagerOptions& options) {
  // Who only watches writes nothing.
  const bool reads_only = role.controller == "allocation" && options.allocation.mode == allocation::Mode::kObserve;
  std::vector<client::Permission> permissions;
  for (const PermissionRule& rule : role.rules) {
    const size_t slash = rule.resource.find('/');
    client::Permission permission;
    permission.group = rule.group;
    permission.resource = rule.resource.substr(0, slash);
    if (slash != std::string::npos) permission.subresource = rule.resource.substr(slash + 1);
    permission.name = rule.name;
    if (rule.name == kLease) permission.name = options.lease ? options.lease->name : "";
    permission.ns = role.ns == kLease && options.lease ? options.lease->ns : std::string(role.ns);
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
