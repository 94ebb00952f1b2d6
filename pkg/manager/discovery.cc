#include "pkg/manager/discovery.h"

#include <nlohmann/json.hpp>
#include <set>

namespace dra::manager {

Result<std::string> choose_dra_version(std::string_view api_group_json) {
  const auto group = nlohmann::json::parse(api_group_json, nullptr, /*allow_exceptions=*/false);
  if (!group.is_object() || !group.contains("versions") || !group["versions"].is_array())
    return fail(Code::kUnavailable, "the answer to GET /apis/resource.k8s.io is no APIGroup");
  std::set<std::string> served;
  for (const auto& version : group["versions"])
    if (version.is_object() && version.contains("version") && version["version"].is_string())
      served.insert(version["version"].get<std::string>());
  for (const char* version : {"v1", "v1beta2", "v1beta1"})
    if (served.contains(version)) return std::string(version);
  return fail(Code::kUnsupported,
              "the API server serves no version of resource.k8s.io that this program knows (v1, v1beta2, v1beta1): "
              "Kubernetes 1.34 or newer serves v1; on 1.32 and 1.33 enable the DynamicResourceAllocation feature gate "
              "and the API with --runtime-config=resource.k8s.io/v1beta1=true");
}

}  // namespace dra::manager
