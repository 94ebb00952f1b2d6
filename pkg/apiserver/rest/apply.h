// Server-side apply.
#pragma once

#include <string>
#include <vector>

#include "pkg/apiserver/rest/call.h"

namespace dra::apiserver {

// The object after applying `config` (as sent, with type fields) as the call's field manager, with its managedFields.
// In the call's version. `current` null: the object is created.
StatusOr<Json> run_apply(const Env& env, Call& call, const Json& config, const std::vector<std::string>& duplicates,
                         const Json* current);

}  // namespace dra::apiserver
