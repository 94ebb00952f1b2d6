// Who asks, and whether they may. Members of system:masters may do everything; others may discover and review
// themselves; nobody (no token) may see health and version.
#pragma once

#include "pkg/apiserver/call.h"

namespace dra::apiserver {

// Sets call.user from token and impersonation headers.
StatusOr<void> authenticate(const Env& env, Call& call);

struct AccessAttributes {
  std::string verb;
  GroupResource resource;  // of resource requests
  std::string subresource;
  std::string namespace_;
  std::string name;
  std::string path;  // of others
};
bool is_allowed(const UserInfo& user, const AccessAttributes& what);
// Checks the call itself; 403 with upstream's text.
StatusOr<void> authorize(Call& call);
// "get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"; lower-case method for paths.
std::string request_verb(const Call& call);

}  // namespace dra::apiserver
