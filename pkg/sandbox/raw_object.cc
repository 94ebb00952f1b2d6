#include "pkg/sandbox/raw_object.h"

#include <simdjson.h>

#include <nlohmann/json.hpp>

namespace dra::sandbox {
namespace {

using Json = nlohmann::json;
namespace dom = simdjson::dom;

// simdjson bounds the depth.
Json json_of(const dom::element& element) {
  switch (element.type()) {
    case dom::element_type::OBJECT: {
      Json::object_t members;
      for (const dom::key_value_pair member : dom::object(element))
        members.insert_or_assign(std::string(member.key), json_of(member.value));
      return members;
    }
    case dom::element_type::ARRAY: {
      Json::array_t items;
      items.reserve(dom::array(element).size());
      for (const dom::element item : dom::array(element)) items.push_back(json_of(item));
      return items;
    }
    case dom::element_type::STRING:
      return std::string(std::string_view(element));
    case dom::element_type::INT64:
      return int64_t(element);
    case dom::element_type::UINT64:
      return uint64_t(element);
    case dom::element_type::DOUBLE:
      return double(element);
    case dom::element_type::BOOL:
      return bool(element);
    case dom::element_type::NULL_VALUE:
      return nullptr;
  }
  return nullptr;
}

// Several times as fast as nlohmann's parser, which reads what simdjson does not accept (numbers that fit no type).
Json parse(std::string_view text) {
  dom::parser parser;
  dom::element root;
  if (parser.parse(text.data(), text.size()).get(root) == simdjson::SUCCESS) return json_of(root);
  return Json::parse(text, nullptr, false);
}

Result<RawObject> make_raw(Json document) {
  if (!document.is_object() || !document.contains("metadata"))
    return fail(Code::kInvalidArgument, "not an API object: it has no metadata");
  auto metadata = api::decode<api::ObjectMeta>(document["metadata"].dump());
  if (!metadata) return tl::make_unexpected(metadata.error());
  return RawObject{std::move(*metadata), std::make_shared<const Json>(std::move(document))};
}

}  // namespace

Result<RawObject> decode_raw(std::string_view json) {
  Json document = parse(json);
  if (document.is_discarded()) return fail(Code::kInvalidArgument, "not an API object: it is not JSON");
  return make_raw(std::move(document));
}

Result<api::DecodedList<RawObject>> decode_raw_list(std::string_view json) {
  Json document = parse(json);
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
