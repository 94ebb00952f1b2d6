#include "pkg/manager/watch/discovery.h"

#include <nlohmann/json.hpp>
#include <set>

namespace dra::manager {

namespace {

// The versions of an APIGroup; nothing if the body is not one.
std::optional<std::set<std::string>> served_versions(std::string_view api_group_json) {
  const auto group = nlohmann::json::parse(api_group_json, nullptr, /*allow_exceptions=*/false);
  if (!group.is_object() || !group.contains("versions") || !group["versions"].is_array()) return std::nullopt;
  std::set<std::string> served;
  for (const auto& version : group["versions"])
    if (version.is_object() && version.contains("version") && version["version"].is_string())
      served.insert(version["version"].get<std::string>());
  return served;
}

}  // namespace

std::string git_version(std::string_view version_json) {
  const auto document = nlohmann::json::parse(version_json, nullptr, /*allow_exceptions=*/false);
  if (!document.is_object() || !document.contains("gitVersion") || !document["gitVersion"].is_string()) return "";
  return document["gitVersion"].get<std::string>();
}

Result<std::string> choose_dra_version(std::string_view api_group_json) {
  const std::optional<std::set<std::string>> known = served_versions(api_group_json);
  if (!known) return fail(Code::kUnavailable, "the answer to GET /apis/resource.k8s.io is not an APIGroup");
  const std::set<std::string>& served = *known;
  for (const char* version : {"v1", "v1beta2", "v1beta1"})
    if (served.contains(version)) return std::string(version);
  return fail(Code::kUnsupported,
              "the API server serves no version of resource.k8s.io that this program knows (v1, v1beta2, v1beta1): "
              "Kubernetes 1.34 or newer serves v1; on 1.32 and 1.33 enable the DynamicResourceAllocation feature gate "
              "and the API with --runtime-config=resource.k8s.io/v1beta1=true");
}

std::vector<std::string> versions_with_taint_rules(std::string_view api_group_json) {
  const std::set<std::string> served = served_versions(api_group_json).value_or(std::set<std::string>{});
  std::vector<std::string> found;
  for (const char* version : {"v1", "v1beta2", "v1alpha3"})
    if (served.contains(version)) found.emplace_back(version);
  return found;
}

bool serves_resource(std::string_view api_resource_list_json, std::string_view plural) {
  const auto list = nlohmann::json::parse(api_resource_list_json, nullptr, /*allow_exceptions=*/false);
  if (!list.is_object() || !list.contains("resources") || !list["resources"].is_array()) return false;
  for (const auto& resource : list["resources"])
    if (resource.is_object() && resource.contains("name") && resource["name"].is_string() &&
        resource["name"].get<std::string>() == plural)
      return true;
  return false;
}

}  // namespace dra::manager
