// Who asks (bearer tokens, impersonation), and whether they may (authorizer.h).
#pragma once

#include "pkg/apiserver/call.h"

namespace dra::apiserver {

// Sets call.user from token and impersonation headers.
StatusOr<void> authenticate(const Env& env, Call& call);

// Checks the call itself; 403 with upstream's text.
StatusOr<void> authorize(const Env& env, Call& call);
// "get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"; lower-case method for paths.
std::string request_verb(const Call& call);

}  // namespace dra::apiserver
