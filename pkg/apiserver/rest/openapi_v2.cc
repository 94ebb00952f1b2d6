#include "pkg/apiserver/rest/openapi_v2.h"

#include <nlohmann/json.hpp>
#include <string_view>

#include "pkg/apiserver/model/release.h"
#include "pkg/apiserver/rest/call.h"
#include "pkg/base/protobuf_wire.h"

namespace dra::apiserver {

namespace {

constexpr std::string_view kTitle = "Kubernetes", kGvk = "x-kubernetes-group-version-kind";
constexpr std::string_view kParameters[] = {"dryRun", "fieldManager", "fieldValidation"};

// A length-delimited field; numbers are those of gnostic's OpenAPIv2.proto.
std::string field(int number, std::string_view bytes) {
  std::string out;
  append_bytes_field(out, number, bytes);
  return out;
}

Json gvk_json(const PatchPath& p) {
  return {{"group", p.gv.group}, {"kind", p.kind}, {"version", p.gv.version}};
}

std::string query_parameter(std::string_view name) {
  const std::string schema = field(2, "query") + field(4, name) + field(6, "string");
  return field(1, field(2, field(3, schema)));  // ParametersItem, Parameter, NonBodyParameter
}

std::string operation(const PatchPath& p) {
  std::string out;
  for (const std::string_view name : kParameters) out += field(8, query_parameter(name));
  // NamedAny: the value is YAML, which JSON is.
  return out + field(13, field(1, kGvk) + field(2, field(2, gvk_json(p).dump())));
}

}  // namespace

std::string openapi_v2_protobuf(const std::vector<PatchPath>& paths) {
  std::string items;
  for (const PatchPath& p : paths) items += field(2, field(1, p.path) + field(2, field(8, operation(p))));
  return field(1, "2.0") + field(2, field(1, kTitle) + field(2, served_version())) + field(8, items) + field(9, "");
}

std::string openapi_v2_json(const std::vector<PatchPath>& paths) {
  Json items = Json::object();
  Json parameters = Json::array();
  for (const std::string_view name : kParameters)
    parameters.push_back({{"name", name}, {"in", "query"}, {"type", "string"}});
  for (const PatchPath& p : paths)
    items[p.path] = {{"patch", {{"parameters", parameters}, {std::string(kGvk), gvk_json(p)}}}};
  return Json{{"swagger", "2.0"},
              {"info", {{"title", kTitle}, {"version", served_version()}}},
              {"paths", std::move(items)},
              {"definitions", Json::object()}}
      .dump();
}

}  // namespace dra::apiserver
