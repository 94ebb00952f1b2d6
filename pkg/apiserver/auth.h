// Who asks (bearer tokens, impersonation), and whether they may (authorizer.h).
#pragma once

#include "pkg/apiserver/call.h"

namespace dra::apiserver {

// Sets call.user from token and impersonation headers.
StatusOr<void> authenticate(const Env& env, Call& call);

// Checks the call's verb; 403 with upstream's text.
StatusOr<void> authorize(const Env& env, Call& call);
// The additional right that a PUT or an apply needs where it creates; 403.
StatusOr<void> authorize_create(const Env& env, const Call& call, const std::string& name);
// "get", "list", "watch", "create", "update", "patch", "delete", "deletecollection", and "" for methods that resources
// do not have; the method in lower case for other paths (k8s.io/apiserver/pkg/endpoints/request/requestinfo.go).
std::string request_verb(const Call& call);

}  // namespace dra::apiserver
