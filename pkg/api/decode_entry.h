// From a reader to the public decode<T>(). Internal to pkg/api: included by the decode_*.cc files only.
#pragma once

#include "pkg/api/decode.h"
#include "pkg/api/read_fields.h"
#include "pkg/base/strings.h"

namespace dra::api::detail {

template <class T>
Result<T> decode_one(std::string_view json) {
  Result<JsonDocument> document = JsonDocument::parse(json);
  if (!document) return fail(document.error());
  T out{};
  Trouble trouble;
  if (!read(document->root(), out, trouble)) return fail(Code::kInvalidArgument, trouble.message());
  return out;
}

// "ns/name" of an item whose metadata may itself be broken; empty without a name.
std::string item_key(const JsonValue& item);
bool read_list_meta(const JsonValue& list, ListMeta& out, Trouble& trouble);

template <class T>
Result<DecodedList<T>> decode_many(std::string_view json) {
  Result<JsonDocument> document = JsonDocument::parse(json);
  if (!document) return fail(document.error());
  DecodedList<T> out;
  Trouble trouble;
  const JsonValue root = document->root();
  const bool readable =
      expect_object(root, trouble) && read_list_meta(root, out.metadata, trouble) &&
      field_with(root, "items", trouble, [&](const JsonValue& items) {
        if (items.kind() != JsonValue::Kind::kArray) return trouble.wrong_type(items, "an array");
        out.items.reserve(items.size());
        size_t index = 0;
        return items.each_element([&](const JsonValue& item) {
          T object{};
          Trouble inner;
          if (read(item, object, inner)) {
            out.items.push_back(std::move(object));
          } else {
            out.unreadable.push_back(item_key(item));
            out.errors.emplace_back(Code::kInvalidArgument, "items[" + std::to_string(index) + "] " +
                                                                quote(out.unreadable.back()) + ": " + inner.message());
          }
          ++index;
          return true;
        });
      });
  if (!readable) return fail(Code::kInvalidArgument, trouble.message());
  return out;
}

}  // namespace dra::api::detail

#define DRA_DECODE_PART(type)                        \
  template <>                                        \
  Result<type> decode<type>(std::string_view json) { \
    return detail::decode_one<type>(json);           \
  }
#define DRA_DECODE_KIND(type)                                          \
  DRA_DECODE_PART(type)                                                \
  template <>                                                          \
  Result<DecodedList<type>> decode_list<type>(std::string_view json) { \
    return detail::decode_many<type>(json);                            \
  }
