// Discovery: which version of resource.k8s.io the API server serves. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "pkg/base/error.h"

namespace dra::manager {

// From the body of GET /apis/resource.k8s.io (an APIGroup): "v1", else "v1beta2", else "v1beta1". An error says what is
// missing and how to get it.
Result<std::string> choose_dra_version(std::string_view api_group_json);

}  // namespace dra::manager
