// From a reader to the public decode<T>(). Internal to pkg/api/decode: included by the decode_*.cc files only.
#pragma once

#include <optional>

#include "pkg/api/decode/decode.h"
#include "pkg/api/decode/decode_protobuf.h"
#include "pkg/api/decode/protobuf_envelope.h"
#include "pkg/api/decode/read_fields.h"
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
std::string item_key(const WireValue& item);
bool read_list_meta(const WireValue& list, ListMeta& out, Trouble& trouble);
bool read_list_meta_fields(const WireValue& metadata, ListMeta& out, Trouble& trouble);

template <class T>
Result<DecodedList<T>> decode_many(std::string_view json) {
  Result<JsonDocument> document = JsonDocument::parse(json);
  if (!document) return fail(document.error());
  DecodedList<T> out;
  Trouble trouble;
  const WireValue root = document->root();
  const bool readable =
      expect_object(root, trouble) && read_list_meta(root, out.metadata, trouble) &&
      field_with(root, "items", trouble, [&](const WireValue& items) {
        if (items.kind() != WireValue::Kind::kArray) return trouble.wrong_type(items, "an array");
        out.items.reserve(items.size());
        size_t index = 0;
        return items.each_element([&](const WireValue& item) {
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

Error broken_object(const ProtobufDocument& document, const Trouble& trouble);
Result<void> read_protobuf_list_meta(ProtobufDocument& document, std::string_view message, ListMeta& out);

template <class T>
Result<T> decode_message(ProtobufDocument& document, std::string_view message, const ProtobufShape& shape) {
  T out{};
  Trouble trouble;
  std::optional<Error> broken;
  if (!read(document.open(message, shape), out, trouble) || !document.ok()) broken = broken_object(document, trouble);
  document.close();
  if (broken) return fail(*std::move(broken));
  return out;
}

template <class T>
Result<T> decode_protobuf_one(std::string_view bytes, std::string_view kind) {
  thread_local ProtobufDocument document;  // keeps its buffers
  const Result<ProtobufObject> object = open_object(bytes, kind);
  if (!object) return fail(object.error());
  return decode_message<T>(document, object->message, *object->shape);
}

template <class T>
Result<DecodedList<T>> decode_protobuf_many(std::string_view bytes, std::string_view kind) {
  const Result<ProtobufList> list = open_list(bytes, kind);
  if (!list) return fail(list.error());
  ProtobufDocument document;
  DecodedList<T> out;
  if (const auto read = read_protobuf_list_meta(document, list->metadata, out.metadata); !read)
    return fail(read.error());
  out.items.reserve(list->items.size());
  for (const std::string_view item : list->items) {
    Result<T> object = decode_message<T>(document, item, *list->shape);
    if (!object) return fail(object.error().wrap("items[" + std::to_string(out.items.size()) + "]"));
    out.items.push_back(std::move(*object));
  }
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
#define DRA_DECODE_PROTOBUF(type)                                                \
  template <>                                                                    \
  Result<type> decode_protobuf<type>(std::string_view bytes) {                   \
    return detail::decode_protobuf_one<type>(bytes, #type);                      \
  }                                                                              \
  template <>                                                                    \
  Result<DecodedList<type>> decode_protobuf_list<type>(std::string_view bytes) { \
    return detail::decode_protobuf_many<type>(bytes, #type);                     \
  }
