// Rules of roles and subjects of bindings (rbac.authorization.k8s.io/v1), compiled from their documents. Pure.
#pragma once

#include <string>
#include <vector>

#include "pkg/apiserver/model/access.h"
#include "pkg/apiserver/model/json.h"

namespace dra::apiserver {

// A PolicyRule. "*" is a wildcard in every list except resource_names, where an empty list is one.
struct PolicyRule {
  std::vector<std::string> verbs;
  std::vector<std::string> api_groups;
  std::vector<std::string> resources;  // "pods", "pods/status", "*/scale", "*"
  std::vector<std::string> resource_names;
  std::vector<std::string> non_resource_urls;  // "/healthz", "/apis/*"

  bool allows(const AccessAttributes& what) const;
  Json to_json() const;
};
// The compiled `rules` of a Role or ClusterRole.
std::vector<PolicyRule> policy_rules(const Json& role);

struct RbacSubject {
  std::string kind;  // "User", "Group", "ServiceAccount"
  std::string name;
  std::string namespace_;  // for service accounts

  bool is(const UserInfo& user) const;
  // `Group "system:masters"`, `ServiceAccount "name/namespace"`.
  std::string text() const;
};
// A service account without a namespace is in `binding_namespace`.
std::vector<RbacSubject> binding_subjects(const Json& binding, const std::string& binding_namespace);

}  // namespace dra::apiserver
