#include "pkg/apiserver/rest/openapi.h"

#include <openssl/evp.h>

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "pkg/apiserver/kinds/folders.h"
#include "pkg/apiserver/model/release.h"
#include "pkg/apiserver/rest/openapi_v2.h"
#include "pkg/base/strings.h"

namespace dra::apiserver {

namespace {

// io.k8s.api.core.v1.Pod, kubectl's name for a type.
std::string component_name(const ObjectType& type) {
  const size_t slash = type.package.find('/');
  const std::string group = type.package.substr(0, slash);
  const std::string version = type.package.substr(slash + 1);
  if (group == "meta") return "io.k8s.apimachinery.pkg.apis.meta." + version + "." + type.name;
  return "io.k8s.api." + group + "." + version + "." + type.name;
}

class SchemaWriter {
 public:
  // Adds a type and everything it refers to.
  void add(const ObjectType& type) {
    const std::string name = component_name(type);
    if (!done_.insert(name).second) return;
    Json properties = Json::object();
    for (const auto& [field_name, field] : type.visible) {
      Json p = value_schema(field->value);
      extensions(*field, p);
      properties[field_name] = std::move(p);
    }
    Json s = {{"type", "object"}, {"properties", properties}};
    if (type.atomic) s["x-kubernetes-map-type"] = "atomic";
    schemas_[name] = std::move(s);
  }
  Json& schemas() { return schemas_; }

 private:
  static void extensions(const Field& f, Json& p) {
    if (f.value.type == FieldType::kList) {
      p["x-kubernetes-list-type"] = f.list_type == ListType::kMap   ? "map"
                                    : f.list_type == ListType::kSet ? "set"
                                                                    : "atomic";
      if (f.list_type == ListType::kMap) p["x-kubernetes-list-map-keys"] = f.map_keys;
    } else if (f.atomic) {
      p["x-kubernetes-map-type"] = "atomic";
    }
    if (f.merge) p["x-kubernetes-patch-strategy"] = f.retain_keys ? "merge,retainKeys" : "merge";
    if (!f.merge_key.empty()) p["x-kubernetes-patch-merge-key"] = f.merge_key;
  }

  Json value_schema(const ValueType& v) {
    switch (v.type) {
      case FieldType::kString:
        return {{"type", "string"}};
      case FieldType::kInt32:
        return {{"type", "integer"}, {"format", "int32"}};
      case FieldType::kInt64:
        return {{"type", "integer"}, {"format", "int64"}};
      case FieldType::kBool:
        return {{"type", "boolean"}};
      case FieldType::kDouble:
        return {{"type", "number"}, {"format", "double"}};
      case FieldType::kBytes:
        return {{"type", "string"}, {"format", "byte"}};
      case FieldType::kTime:
      case FieldType::kMicroTime:
        return {{"type", "string"}, {"format", "date-time"}};
      case FieldType::kQuantity:
      case FieldType::kIntOrString:
        return {{"oneOf", {{{"type", "string"}}, {{"type", "number"}}}}};
      case FieldType::kRaw:
      case FieldType::kFields:
        return {{"type", "object"}};
      case FieldType::kObject:
        add(*v.object);
        return {{"allOf", {{{"$ref", "#/components/schemas/" + component_name(*v.object)}}}}};
      case FieldType::kList:
        return {{"type", "array"}, {"items", value_schema(*v.element)}};
      case FieldType::kMap:
        return {{"type", "object"}, {"additionalProperties", value_schema(*v.element)}};
    }
    return Json::object();
  }

  std::set<std::string> done_;
  Json schemas_ = Json::object();
};

Json gvk_of(const GroupVersion& gv, const std::string& kind) {
  return {{"group", gv.group}, {"version", gv.version}, {"kind", kind}};
}

Json query_parameter(const char* name) {
  return {{"name", name}, {"in", "query"}, {"schema", {{"type", "string"}, {"uniqueItems", true}}}};
}

Json operation(const char* action, const GroupVersion& gv, const std::string& kind, bool write) {
  Json o = {{"x-kubernetes-action", action},
            {"x-kubernetes-group-version-kind", gvk_of(gv, kind)},
            {"responses", {{"200", {{"description", "OK"}}}}}};
  if (write) {
    o["parameters"] = {query_parameter("dryRun"), query_parameter("fieldManager"), query_parameter("fieldValidation")};
  }
  return o;
}

std::string root_of(const GroupVersion& gv) {
  return gv.group.empty() ? "api/" + gv.version : "apis/" + gv.text();
}

std::string item_path(const KindInfo& info, const GroupVersion& gv) {
  return "/" + root_of(gv) + (info.namespaced ? "/namespaces/{namespace}/" : "/") + info.plural + "/{name}";
}

Json v3_document(const KindRegistry& kinds, const GroupVersion& gv) {
  SchemaWriter writer;
  Json paths = Json::object();
  for (const auto& k : kinds.kinds()) {
    const KindInfo& info = k->info();
    const ServedVersion* v = info.find_version(gv);
    if (v == nullptr) continue;
    const ObjectType* type = builtin_schemas().find(v->schema_package, info.kind);
    std::string name =
        "io.k8s.api." + v->schema_package.substr(0, v->schema_package.find('/')) + "." + gv.version + "." + info.kind;
    if (type != nullptr) {
      writer.add(*type);
      name = component_name(*type);
    } else {
      writer.schemas()[name] = {{"type", "object"}};
    }
    Json& schema = writer.schemas()[name];
    schema["properties"]["apiVersion"] = {{"type", "string"}};
    schema["properties"]["kind"] = {{"type", "string"}};
    schema["x-kubernetes-group-version-kind"] = Json::array({gvk_of(gv, info.kind)});
    const std::string path = item_path(info, gv);
    paths[path.substr(0, path.rfind('/'))] = {{"get", operation("list", gv, info.kind, false)},
                                              {"post", operation("post", gv, info.kind, true)}};
    Json item = {{"get", operation("get", gv, info.kind, false)},
                 {"put", operation("put", gv, info.kind, true)},
                 {"patch", operation("patch", gv, info.kind, true)},
                 {"delete", operation("delete", gv, info.kind, false)}};
    paths[path] = item;
    if (info.has_status) {
      item.erase("delete");
      paths[path + "/status"] = item;
    }
  }
  return {{"openapi", "3.0.0"},
          {"info", {{"title", "Kubernetes"}, {"version", served_version()}}},
          {"paths", paths},
          {"components", {{"schemas", writer.schemas()}}}};
}

std::string hash_of(std::string_view text) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  EVP_Digest(text.data(), text.size(), digest, &size, EVP_sha512(), nullptr);
  static const char* kHex = "0123456789ABCDEF";
  std::string out;
  for (unsigned int i = 0; i < size; ++i) {
    out += kHex[digest[i] >> 4];
    out += kHex[digest[i] & 15];
  }
  return out;
}

// Documents by root ("apis/apps/v1"), with their hashes; built once for each set of withdrawn versions.
struct Documents {
  std::map<std::string, std::pair<std::string, std::string>> by_root;
  std::string v2_protobuf, v2_json;
};

const Documents& documents(const KindRegistry& kinds) {
  static auto* made = new std::map<std::set<std::string>, std::unique_ptr<const Documents>>;
  std::unique_ptr<const Documents>& slot_of_set = (*made)[kinds.withdrawn()];
  if (!slot_of_set) {
    auto d = std::make_unique<Documents>();
    std::vector<PatchPath> patches;
    for (const auto& k : kinds.kinds()) {
      for (const auto& v : k->info().served) {
        if (!kinds.serves(v.gv)) continue;
        patches.push_back({item_path(k->info(), v.gv), v.gv, k->info().kind});
        auto& slot = d->by_root[root_of(v.gv)];
        if (!slot.first.empty()) continue;
        slot.first = v3_document(kinds, v.gv).dump();
        slot.second = hash_of(slot.first);
      }
    }
    d->v2_protobuf = openapi_v2_protobuf(patches);
    d->v2_json = openapi_v2_json(patches);
    slot_of_set = std::move(d);
  }
  return *slot_of_set;
}

void send_index(Call& call, const Documents& all) {
  Json paths = Json::object();
  for (const auto& [root, document] : all.by_root) {
    paths[root] = {{"serverRelativeURL", "/openapi/v3/" + root + "?hash=" + document.second}};
  }
  send_text(call, 200, "text/plain; charset=utf-8", Json{{"paths", paths}}.dump());
}

void send_v3(Call& call, const Documents& all) {
  const auto& p = call.path.parts;
  if (p.size() == 2) return send_index(call, all);
  const std::string root = join(std::vector<std::string>(p.begin() + 2, p.end()), "/");
  auto it = all.by_root.find(root);
  http::Response r;
  if (it == all.by_root.end()) {
    r.status = 404;
    call.responder->send(std::move(r));
    return;
  }
  const auto& [text, hash] = it->second;
  const std::string& asked = call.query.get("hash");
  r.headers.add("ETag", quote(hash));
  r.headers.add("Vary", "Accept");
  if (!asked.empty() && asked != hash) {
    r.status = 301;
    r.headers.add("Content-Type", "application/json");
    r.headers.add("Location", "/openapi/v3/" + root + "?hash=" + hash);
  } else if (call.request.headers.get("If-None-Match") == quote(hash)) {
    r.status = 304;
  } else {
    r.headers.add("Content-Type", "application/json");
    r.headers.add("Cache-Control", asked.empty() ? "no-cache, private" : "public, immutable");
    r.body = text;
  }
  call.responder->send(std::move(r));
}

void send_v2(Call& call, const Documents& all) {
  if (call.request.headers.get("Accept").find("protobuf") != std::string_view::npos)
    return send_text(call, 200, "application/com.github.proto-openapi.spec.v2.v1.0+protobuf", all.v2_protobuf);
  send_text(call, 200, "application/json", all.v2_json);
}

}  // namespace

bool handle_openapi(const Env& env, Call& call) {
  const auto& p = call.path.parts;
  if (p.size() < 2 || p[0] != "openapi") return false;
  if (call.request.method != "GET") {
    send_status(call, method_not_allowed());
  } else if (p[1] == "v2" && p.size() == 2) {
    send_v2(call, documents(env.kinds));
  } else if (p[1] == "v3") {
    send_v3(call, documents(env.kinds));
  } else {
    return false;
  }
  return true;
}

}  // namespace dra::apiserver
