// Subresources (status, binding, eviction, scale, finalize, ...) and kinds that only exist as bodies of POST (bindings
// and reviews).
#pragma once

#include "pkg/apiserver/rest/call.h"

namespace dra::apiserver {

void handle_subresource(const Env& env, const CallPtr& call);
// False if the path names an ordinary kind.
bool handle_create_only(const Env& env, const CallPtr& call);

}  // namespace dra::apiserver
