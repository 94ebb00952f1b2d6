// Values of internal types as upstream's field errors print them: compact JSON with Go's field names, all fields
// present ("spec: Invalid value: {"Devices":{"Requests":[...]}}: field is immutable"). Pure.
#pragma once

#include <string>
#include <string_view>

#include "pkg/apiserver/model/json.h"

namespace dra::apiserver {

// `type` is one of the names in go_render.cc ("ResourceClaimSpec", "AllocationResult"); `value` is a hub document.
std::string render_go(std::string_view type, const Json& value);

}  // namespace dra::apiserver
