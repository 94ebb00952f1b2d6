#include "client/writer/metadata_put.h"

#include <charconv>
#include <nlohmann/json.hpp>
#include <utility>

#include "client/rest/status.h"
#include "pkg/api/decode/decode_protobuf.h"
#include "pkg/base/strings.h"

namespace dra::client {
namespace {

using nlohmann::json;

bool read_text(const json& value, std::string& out) {
  if (!value.is_string()) return false;
  out = value.get<std::string>();
  return true;
}

// null removes all finalizers, as in a merge patch.
bool read_finalizers(const json& value, api::MetadataEdit& out) {
  out.finalizers.emplace();
  if (value.is_null()) return true;
  if (!value.is_array()) return false;
  for (const json& name : value)
    if (!read_text(name, out.finalizers->emplace_back())) return false;
  return true;
}

bool read_annotations(const json& value, api::MetadataEdit& out) {
  if (!value.is_object()) return false;
  for (const auto& [key, text] : value.items()) {
    std::optional<std::string>& wanted = out.annotations[key];
    if (!text.is_null() && !read_text(text, wanted.emplace())) return false;
  }
  return true;
}

bool read_member(const std::string& name, const json& value, MetadataPut& out) {
  if (name == "uid") return read_text(value, out.uid);
  if (name == "resourceVersion") return read_text(value, out.resource_version);
  if (name == "finalizers") return read_finalizers(value, out.edit);
  return name == "annotations" && read_annotations(value, out.edit);
}

bool read_consumer(const json& value, api::ResourceClaimConsumerReference& out) {
  if (!value.is_object()) return false;
  for (const auto& [name, text] : value.items()) {
    std::string* into = name == "apiGroup"   ? &out.api_group
                        : name == "resource" ? &out.resource
                        : name == "name"     ? &out.name
                        : name == "uid"      ? &out.uid
                                             : nullptr;
    if (into == nullptr || !read_text(text, *into)) return false;
  }
  return true;
}

// A status that consists of reservedFor.
bool read_status(const json& status, MetadataPut& out) {
  if (!status.is_object() || status.size() != 1 || !status.contains("reservedFor")) return false;
  out.consumers.emplace();
  const json& list = status["reservedFor"];
  if (list.is_null()) return true;
  if (!list.is_array()) return false;
  for (const json& consumer : list)
    if (!read_consumer(consumer, out.consumers->emplace_back())) return false;
  return true;
}

bool changes_metadata(const api::MetadataEdit& edit) {
  return edit.finalizers || !edit.annotations.empty();
}

// The last segment of a JSON pointer below `parent`; nothing if it is not directly below.
std::optional<std::string> segment_below(std::string_view pointer, std::string_view parent) {
  if (!pointer.starts_with(parent)) return std::nullopt;
  std::string out;
  for (size_t i = parent.size(); i < pointer.size(); ++i) {
    if (pointer[i] == '/') return std::nullopt;
    const bool escaped = pointer[i] == '~';
    if (escaped && (++i == pointer.size() || (pointer[i] != '0' && pointer[i] != '1'))) return std::nullopt;
    out += !escaped ? pointer[i] : pointer[i] == '0' ? '~' : '/';
  }
  return out;
}

bool read_finalizer_operation(const std::string& at, const json* value, api::MetadataEdit& out) {
  if (out.remove_finalizer_at || out.append_finalizer) return false;  // the index would be another
  if (value != nullptr) return at == "-" && read_text(*value, out.append_finalizer.emplace());
  const char* end = at.data() + at.size();
  const auto [stopped, error] = std::from_chars(at.data(), end, out.remove_finalizer_at.emplace());
  return error == std::errc() && stopped == end;
}

bool read_operation(const json& operation, MetadataPut& out) {
  std::string op, path;
  if (!operation.is_object() || !operation.contains("op") || !operation.contains("path") ||
      !read_text(operation["op"], op) || !read_text(operation["path"], path))
    return false;
  const bool adds = op == "add" && operation.contains("value");
  if (!adds && op != "remove") return false;
  const json* value = adds ? &operation["value"] : nullptr;
  if (adds && path == "/metadata/uid") return read_text(*value, out.uid);
  if (adds && path == "/metadata/resourceVersion") return read_text(*value, out.resource_version);
  if (const auto at = segment_below(path, "/metadata/finalizers/"))
    return read_finalizer_operation(*at, value, out.edit);
  const auto key = segment_below(path, "/metadata/annotations/");
  if (!key) return false;
  std::optional<std::string>& wanted = out.edit.annotations[*key];
  if (adds) return read_text(*value, wanted.emplace());
  wanted.reset();
  return true;
}

// An index holds for one version only.
std::optional<MetadataPut> put_of_operations(const WriteRequest& write) {
  const json body = json::parse(write.body, nullptr, false);
  if (!write.object.subresource.empty() || !body.is_array()) return std::nullopt;
  MetadataPut put;
  for (const json& operation : body)
    if (!read_operation(operation, put)) return std::nullopt;
  if (put.uid.empty() || put.resource_version.empty()) return std::nullopt;
  return put;
}

}  // namespace

std::optional<MetadataPut> metadata_put_of(const WriteRequest& write) {
  if (write.verb == WriteVerb::kJsonPatch) return put_of_operations(write);
  const bool of_status = write.object.subresource == "status";
  if (write.verb != WriteVerb::kMergePatch || (!of_status && !write.object.subresource.empty())) return std::nullopt;
  const json body = json::parse(write.body, nullptr, false);
  if (!body.is_object() || body.size() != (of_status ? 2 : 1) || !body.contains("metadata") ||
      !body["metadata"].is_object())
    return std::nullopt;
  MetadataPut put;
  for (const auto& [name, value] : body["metadata"].items())
    if (!read_member(name, value, put)) return std::nullopt;
  if (of_status && (!body.contains("status") || !read_status(body["status"], put) || changes_metadata(put.edit)))
    return std::nullopt;
  if (put.uid.empty()) return std::nullopt;
  return put;
}

bool refuses_reencoded(const Error& error, WriteVerb verb) {
  if (error.http_status() == 422 && verb == WriteVerb::kJsonPatch) return true;
  return error.http_status() == 422 && mentions(error, "field is immutable") &&
         (names_field(error, "spec") || names_field(error, "status.allocation"));
}

Result<std::string> put_body(const MetadataPut& put, const ObjectPath& path, std::string_view object) {
  const Result<api::ObjectMeta> metadata = api::protobuf_metadata(object);
  if (!metadata) return fail(metadata.error());
  const std::string what = describe("PUT", path);
  if (metadata->ns != path.ns || metadata->name != path.name)
    return fail(Code::kUnavailable, what + ": the answer is about " + quote(metadata->ns + "/" + metadata->name) +
                                        "; is there a proxy in between?");
  if (metadata->uid != put.uid)
    return fail(Code::kNotFound, what + ": the name belongs to another object, with uid " + quote(metadata->uid));
  if (!put.resource_version.empty() && metadata->resource_version != put.resource_version)
    return fail(Code::kConflict, what + ": the object has been modified: resourceVersion is " +
                                     quote(metadata->resource_version) + ", not " + quote(put.resource_version));
  return put.consumers ? api::edit_protobuf_consumers(object, *put.consumers)
                       : api::edit_protobuf_metadata(object, path.resource.kind, put.edit);
}

Error not_put(const Error& error) {
  return error.wrap("the API server takes no patch of this object's metadata");
}

}  // namespace dra::client
