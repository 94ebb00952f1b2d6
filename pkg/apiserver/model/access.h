// Users, what they want to do, and whether they may: the terms of authorization. Plain values.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "pkg/apiserver/model/status.h"

namespace dra::apiserver {

struct UserInfo {
  std::string name;
  std::string uid;
  std::vector<std::string> groups;
  std::map<std::string, std::vector<std::string>> extra;
};

enum class AuthorizationMode {
  kRbac,         // roles and bindings of rbac.authorization.k8s.io/v1 decide
  kAlwaysAllow,  // everybody may do everything
};

struct AccessAttributes {
  std::string verb;
  GroupResource resource;  // for resource requests
  std::string subresource;
  std::string namespace_;
  std::string name;
  std::string path;  // for other requests
};

struct AccessDecision {
  bool allowed = false;
  std::string reason;  // which rule allowed it, or why rules were not found; often empty
};

// `pods "a" is forbidden: User "u" cannot get resource "pods" in API group "" in the namespace "n"`, as a 403.
Status forbidden_access(const std::string& user, const AccessAttributes& what, const std::string& reason);

}  // namespace dra::apiserver
