// OpenAPI documents: /openapi/v2 (the empty document in protobuf and JSON) and /openapi/v3, made from the schema
// tables.
#pragma once

#include "pkg/apiserver/call.h"

namespace dra::apiserver {

// False when the path is not below /openapi.
bool handle_openapi(const Env& env, Call& call);

}  // namespace dra::apiserver
