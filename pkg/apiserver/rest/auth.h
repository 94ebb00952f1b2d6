// Authentication (bearer tokens, impersonation) and authorization (authorizer.h) of a call.
#pragma once

#include "pkg/apiserver/rest/call.h"

namespace dra::apiserver {

// Sets call.user from token and impersonation headers.
StatusOr<void> authenticate(const Env& env, Call& call);

// Checks the call's verb; 403 with upstream's text.
StatusOr<void> authorize(const Env& env, Call& call);
// The additional permission that a PUT or an apply needs to create the object; 403.
StatusOr<void> authorize_create(const Env& env, const Call& call, const std::string& name);
// "get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"; "" for methods that resources do
// not have; the method in lower case for other paths (k8s.io/apiserver/pkg/endpoints/request/requestinfo.go).
std::string request_verb(const Call& call);

}  // namespace dra::apiserver
