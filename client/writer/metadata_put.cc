#include "client/writer/metadata_put.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "client/rest/status.h"
#include "pkg/api/decode_protobuf.h"
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

}  // namespace

std::optional<MetadataPut> metadata_put_of(const WriteRequest& write) {
  if (write.verb != WriteVerb::kMergePatch || !write.object.subresource.empty()) return std::nullopt;
  const json body = json::parse(write.body, nullptr, false);
  if (!body.is_object() || body.size() != 1 || !body.contains("metadata") || !body["metadata"].is_object())
    return std::nullopt;
  MetadataPut put;
  for (const auto& [name, value] : body["metadata"].items())
    if (!read_member(name, value, put)) return std::nullopt;
  if (put.uid.empty()) return std::nullopt;
  return put;
}

bool refuses_patched_spec(const Error& error) {
  return error.http_status() == 422 && names_field(error, "spec") && mentions(error, "field is immutable");
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
  return api::edit_protobuf_metadata(object, path.resource.kind, put.edit);
}

Error not_put(const Error& error) {
  return error.wrap("the API server takes no patch of this object's metadata, since its spec has JSON with blanks");
}

}  // namespace dra::client
