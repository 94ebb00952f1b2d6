// OpenAPI documents: /openapi/v2 (openapi_v2.h) and /openapi/v3, made from the schema tables.
#pragma once

#include "pkg/apiserver/rest/call.h"

namespace dra::apiserver {

// False if the path is not below /openapi.
bool handle_openapi(const Env& env, Call& call);

}  // namespace dra::apiserver
