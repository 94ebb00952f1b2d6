#include "pkg/apiserver/kinds/rbac/bootstrap.h"

#include <nlohmann/json.hpp>

namespace dra::apiserver {

namespace {

constexpr const char* kRoles = "rbac.authorization.k8s.io/clusterroles";
constexpr const char* kBindings = "rbac.authorization.k8s.io/clusterrolebindings";
constexpr const char* kBootstrapGroup = "rbac.authorization.k8s.io";

Json bootstrap_metadata(const std::string& name) {
  return {{"name", name},
          {"labels", {{"kubernetes.io/bootstrapping", "rbac-defaults"}}},
          {"annotations", {{"rbac.authorization.kubernetes.io/autoupdate", "true"}}}};
}

Json resources(const std::vector<std::string>& verbs, const std::string& group, const std::vector<std::string>& names) {
  return {{"verbs", verbs}, {"apiGroups", {group}}, {"resources", names}};
}

Json paths(const std::vector<std::string>& verbs, const std::vector<std::string>& urls) {
  return {{"verbs", verbs}, {"nonResourceURLs", urls}};
}

Json role_document(const std::string& name, const Json& rules) {
  return {{"metadata", bootstrap_metadata(name)}, {"rules", rules}};
}

Json binding_document(const std::string& name, const std::vector<std::string>& groups) {
  Json subjects = Json::array();
  for (const auto& group : groups)
    subjects.push_back({{"kind", "Group"}, {"apiGroup", kBootstrapGroup}, {"name", group}});
  return {{"metadata", bootstrap_metadata(name)},
          {"subjects", subjects},
          {"roleRef", {{"apiGroup", kBootstrapGroup}, {"kind", "ClusterRole"}, {"name", name}}}};
}

const std::vector<std::string> kRead = {"get", "list", "watch"};
const std::vector<std::string> kWrite = {"create", "delete", "deletecollection", "patch", "update"};

Json view_rules() {
  return Json::array(
      {resources(kRead, "",
                 {"configmaps", "events", "namespaces", "namespaces/status", "pods", "pods/log", "pods/status",
                  "replicationcontrollers", "replicationcontrollers/scale", "replicationcontrollers/status",
                  "resourcequotas", "resourcequotas/status", "serviceaccounts", "services", "services/status"}),
       resources(kRead, "events.k8s.io", {"events"}),
       resources(
           kRead, "apps",
           {"daemonsets", "daemonsets/status", "deployments", "deployments/scale", "deployments/status", "replicasets",
            "replicasets/scale", "replicasets/status", "statefulsets", "statefulsets/scale", "statefulsets/status"}),
       resources(kRead, "batch", {"jobs", "jobs/status"}),
       resources(kRead, "policy", {"poddisruptionbudgets", "poddisruptionbudgets/status"}),
       resources(kRead, "resource.k8s.io", {"resourceclaims", "resourceclaims/status", "resourceclaimtemplates"})});
}

Json edit_rules() {
  Json rules = view_rules();
  for (const Json& more : {resources(kRead, "", {"secrets"}),
                           resources(kWrite, "",
                                     {"configmaps", "events", "pods", "pods/attach", "pods/exec", "pods/portforward",
                                      "pods/proxy", "replicationcontrollers", "replicationcontrollers/scale", "secrets",
                                      "serviceaccounts", "services", "services/proxy"}),
                           resources({"create"}, "", {"pods/eviction", "serviceaccounts/token"}),
                           resources({"impersonate"}, "", {"serviceaccounts"}),
                           resources(kWrite, "apps",
                                     {"daemonsets", "deployments", "deployments/scale", "replicasets",
                                      "replicasets/scale", "statefulsets", "statefulsets/scale"}),
                           resources(kWrite, "batch", {"jobs"}), resources(kWrite, "policy", {"poddisruptionbudgets"}),
                           resources(kWrite, "resource.k8s.io", {"resourceclaims", "resourceclaimtemplates"})}) {
    rules.push_back(more);
  }
  return rules;
}

Json admin_rules() {
  Json rules = edit_rules();
  rules.push_back(resources({"create"}, "authorization.k8s.io", {"localsubjectaccessreviews"}));
  for (const auto& verbs : {kRead, kWrite})
    rules.push_back(resources(verbs, kBootstrapGroup, {"rolebindings", "roles"}));
  return rules;
}

}  // namespace

std::vector<std::pair<std::string, Json>> bootstrap_policy() {
  const Json everything = Json::array({resources({"*"}, "*", {"*"}), paths({"*"}, {"*"})});
  const Json basic = Json::array(
      {resources({"create"}, "authorization.k8s.io", {"selfsubjectaccessreviews", "selfsubjectrulesreviews"}),
       resources({"create"}, "authentication.k8s.io", {"selfsubjectreviews"})});
  const Json discovery = Json::array({paths({"get"}, {"/api", "/api/*", "/apis", "/apis/*", "/healthz", "/livez",
                                                      "/openapi", "/openapi/*", "/readyz", "/version", "/version/"})});
  const Json public_info = Json::array({paths({"get"}, {"/healthz", "/livez", "/readyz", "/version", "/version/"})});
  return {
      {kRoles, role_document("admin", admin_rules())},
      {kRoles, role_document("cluster-admin", everything)},
      {kRoles, role_document("edit", edit_rules())},
      {kRoles, role_document("system:basic-user", basic)},
      {kRoles, role_document("system:discovery", discovery)},
      {kRoles, role_document("system:public-info-viewer", public_info)},
      {kRoles, role_document("view", view_rules())},
      {kBindings, binding_document("cluster-admin", {"system:masters"})},
      {kBindings, binding_document("system:basic-user", {"system:authenticated"})},
      {kBindings, binding_document("system:discovery", {"system:authenticated"})},
      {kBindings, binding_document("system:public-info-viewer", {"system:authenticated", "system:unauthenticated"})}};
}

}  // namespace dra::apiserver
