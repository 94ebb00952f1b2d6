// What somebody wants to do, and whether they may: what authorization speaks of. Plain values.
#pragma once

#include <string>

#include "pkg/apiserver/status.h"

namespace dra::apiserver {

struct AccessAttributes {
  std::string verb;
  GroupResource resource;  // of resource requests
  std::string subresource;
  std::string namespace_;
  std::string name;
  std::string path;  // of others
};

struct AccessDecision {
  bool allowed = false;
  std::string reason;  // which rule allowed it, or what kept rules from being found; often empty
};

// `pods "a" is forbidden: User "u" cannot get resource "pods" in API group "" in the namespace "n"`, as a 403.
Status forbidden_access(const std::string& user, const AccessAttributes& what, const std::string& reason);

}  // namespace dra::apiserver
