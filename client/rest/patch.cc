#include "client/rest/patch.h"

#include <nlohmann/json.hpp>

#include "pkg/base/check.h"

namespace dra::client {
namespace {

using nlohmann::json;

void set_precondition(json& object, const Precondition& precondition) {
  if (!precondition.uid.empty()) object["metadata"]["uid"] = precondition.uid;
  if (!precondition.resource_version.empty()) object["metadata"]["resourceVersion"] = precondition.resource_version;
}

}  // namespace

std::string merge_patch(json patch, const Precondition& precondition) {
  if (patch.is_null()) patch = json::object();
  DRA_CHECK(patch.is_object());
  set_precondition(patch, precondition);
  return patch.dump();
}

std::string json_patch(json operations, const Precondition& precondition) {
  if (operations.is_null()) operations = json::array();
  DRA_CHECK(operations.is_array());
  json all = json::array();
  auto pin = [&](const char* path, const std::string& value) {
    if (!value.empty()) all.push_back({{"op", "replace"}, {"path", path}, {"value", value}});
  };
  pin("/metadata/uid", precondition.uid);
  pin("/metadata/resourceVersion", precondition.resource_version);
  for (json& operation : operations) all.push_back(std::move(operation));
  return all.dump();
}

std::string apply_patch(json fields, const Resource& resource, std::string_view ns, std::string_view name,
                        const Precondition& precondition) {
  if (fields.is_null()) fields = json::object();
  DRA_CHECK(fields.is_object());
  fields["apiVersion"] = resource.api_version();
  fields["kind"] = resource.kind;
  fields["metadata"]["name"] = name;
  if (!ns.empty()) fields["metadata"]["namespace"] = ns;
  set_precondition(fields, precondition);
  return fields.dump();
}

std::string escape_pointer(std::string_view part) {
  std::string out;
  for (char c : part) {
    if (c == '~') {
      out += "~0";
    } else if (c == '/') {
      out += "~1";
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace dra::client
