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

}  // namespace

std::optional<MetadataPut> metadata_put_of(const WriteRequest& write) {
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

bool refuses_reencoded(const Error& error) {
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
  return error.wrap("the API server takes no patch of this object's metadata, since its JSON has blanks");
}

}  // namespace dra::client
