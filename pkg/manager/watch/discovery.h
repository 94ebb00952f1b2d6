// Discovery: which version of resource.k8s.io the API server serves. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pkg/base/error.h"

namespace dra::manager {

// From the body of GET /version: "v1.36.2"; empty for a body that cannot be read.
std::string git_version(std::string_view version_json);

// From the body of GET /apis/resource.k8s.io (an APIGroup): "v1", else "v1beta2", else "v1beta1". An error says what is
// missing and how to get it.
Result<std::string> choose_dra_version(std::string_view api_group_json);

// The versions of the group that may serve DeviceTaintRules and that the server has, most preferred first of "v1",
// "v1beta2", "v1alpha3". Empty for an unreadable body.
std::vector<std::string> versions_with_taint_rules(std::string_view api_group_json);
// From the body of GET /apis/resource.k8s.io/VERSION (an APIResourceList): whether it serves this resource.
bool serves_resource(std::string_view api_resource_list_json, std::string_view plural);

}  // namespace dra::manager
