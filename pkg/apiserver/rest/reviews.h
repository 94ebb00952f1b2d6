// Reviews (authentication.k8s.io, authorization.k8s.io) and service account tokens.
#pragma once

#include "pkg/apiserver/rest/call.h"
#include "pkg/apiserver/rest/discovery.h"

namespace dra::apiserver {

void handle_review(const Env& env, const CallPtr& call, const CreateOnlyResource& resource);
// POST serviceaccounts/X/token.
void create_token(const Env& env, const CallPtr& call);

}  // namespace dra::apiserver
