#include "pkg/sandbox/raw_object.h"

#include <nlohmann/json.hpp>

namespace dra::sandbox {
namespace {

using Json = nlohmann::json;

Result<RawObject> make_raw(Json document) {
  if (!document.is_object() || !document.contains("metadata"))
    return fail(Code::kInvalidArgument, "not an API object: it has no metadata");
  auto metadata = api::decode<api::ObjectMeta>(document["metadata"].dump());
  if (!metadata) return tl::make_unexpected(metadata.error());
  return RawObject{std::move(*metadata), std::make_shared<const Json>(std::move(document))};
}

}  // namespace

Result<RawObject> decode_raw(std::string_view json) {
  Json document = Json::parse(json, nullptr, false);
  if (document.is_discarded()) return fail(Code::kInvalidArgument, "not an API object: it is no JSON");
  return make_raw(std::move(document));
}

Result<api::DecodedList<RawObject>> decode_raw_list(std::string_view json) {
  Json document = Json::parse(json, nullptr, false);
  if (document.is_discarded() || !document.is_object() || !document.contains("items"))
    return fail(Code::kInvalidArgument, "not a list: it has no items");
  api::DecodedList<RawObject> list;
  const Json metadata = document.value("metadata", Json::object());
  list.metadata.resource_version = metadata.value("resourceVersion", "");
  list.metadata.continue_token = metadata.value("continue", "");
  for (Json& item : document["items"]) {
    auto object = make_raw(std::move(item));
    if (object) {
      list.items.push_back(std::move(*object));
    } else {
      list.errors.push_back(object.error());
      list.unreadable.emplace_back();
    }
  }
  return list;
}

}  // namespace dra::sandbox
