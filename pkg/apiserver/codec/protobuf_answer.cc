#include "pkg/apiserver/codec/protobuf_answer.h"

#include <cstring>
#include <nlohmann/json.hpp>

#include "pkg/apiserver/codec/protobuf.h"
#include "pkg/apiserver/kinds/folders.h"
#include "pkg/apiserver/model/json_text.h"
#include "pkg/base/check.h"
#include "pkg/base/protobuf_wire.h"
#include "pkg/base/strings.h"
#include "pkg/base/timestamp.h"

namespace dra::apiserver {

namespace {

// All list kinds: metadata, then items.
constexpr int kListMetadata = 1, kListItems = 2;
// The message that a map's list values are wrapped in (authorization's ExtraValue).
constexpr int kExtraValueItems = 1;

// Documents in the store were decoded by the same tables, so a value that does not fit its type is only skipped.
class MessageEncoder {
 public:
  static void message(const ObjectType& type, const Json& object, std::string& out) {
    for (const Field* field : type.by_number) {
      if (field->inlined) {
        std::string nested;
        message(*field->value.object, object, nested);
        append_bytes_field(out, field->number, nested);
        continue;
      }
      const auto found = object.find(field->name);
      if (found != object.end() && !found->is_null()) {
        value(field->value, *found, field->number, out);
      } else if (!field->value.pointer) {
        zero(field->value, field->number, out);
      }
    }
  }

 private:
  // What the generated code writes for an unset plain field.
  static void zero(const ValueType& type, int number, std::string& out) {
    switch (type.type) {
      case FieldType::kInt32:
      case FieldType::kInt64:
      case FieldType::kBool:
        return append_varint_field(out, number, 0);
      case FieldType::kDouble:
        return append_fixed64_field(out, number, 0);
      case FieldType::kList:
      case FieldType::kMap:
      case FieldType::kBytes:
        return;
      case FieldType::kIntOrString:
        return append_bytes_field(out, number, int_or_string(0));
      case FieldType::kObject: {
        std::string nested;
        message(*type.object, Json::object(), nested);
        return append_bytes_field(out, number, nested);
      }
      default:
        append_bytes_field(out, number, "");
    }
  }

  static void value(const ValueType& type, const Json& json, int number, std::string& out) {
    if (type.type == FieldType::kList) {
      if (!json.is_array()) return;
      for (const Json& element : json) value(*type.element, element, number, out);
    } else if (type.type == FieldType::kMap) {
      if (!json.is_object()) return;
      for (const auto& [key, element] : json.items()) {
        std::string entry;
        append_bytes_field(entry, 1, key);
        entry_value(*type.element, element, entry);
        append_bytes_field(out, number, entry);
      }
    } else {
      single(type, json, number, out);
    }
  }

  static void entry_value(const ValueType& element, const Json& json, std::string& entry) {
    if (element.type != FieldType::kList) return value(element, json, 2, entry);
    std::string wrapped;
    value(element, json, kExtraValueItems, wrapped);
    append_bytes_field(entry, 2, wrapped);
  }

  static void single(const ValueType& type, const Json& json, int number, std::string& out) {
    switch (type.type) {
      case FieldType::kInt32:
      case FieldType::kInt64:
        if (json.is_number()) append_varint_field(out, number, static_cast<uint64_t>(json.get<int64_t>()));
        return;
      case FieldType::kBool:
        if (json.is_boolean()) append_varint_field(out, number, json.get<bool>() ? 1 : 0);
        return;
      case FieldType::kDouble: {
        if (!json.is_number()) return;
        const double d = json.get<double>();
        uint64_t bits = 0;
        std::memcpy(&bits, &d, sizeof bits);
        return append_fixed64_field(out, number, bits);
      }
      default:
        append_bytes_field(out, number, bytes(type, json));
    }
  }

  static std::string bytes(const ValueType& type, const Json& json) {
    std::string out;
    switch (type.type) {
      case FieldType::kBytes:
        if (json.is_string() && !base64_decode(json.get_ref<const std::string&>(), out)) out.clear();
        return out;
      case FieldType::kTime:
      case FieldType::kMicroTime:
        return time(json);
      case FieldType::kQuantity:
        append_bytes_field(out, 1, json.is_string() ? json.get<std::string>() : compact_text(json));
        return out;
      case FieldType::kIntOrString:
        return int_or_string(json);
      case FieldType::kRaw:
      case FieldType::kFields:
        append_bytes_field(out, 1, compact_text(json));
        return out;
      case FieldType::kObject:
        if (json.is_object()) message(*type.object, json, out);
        return out;
      default:
        return json.is_string() ? json.get<std::string>() : std::string();
    }
  }

  static std::string time(const Json& json) {
    std::string out;
    Timestamp t;
    if (!json.is_string() || json.get_ref<const std::string&>().empty()) return out;
    // An invalid time in the store (the API admits none) must not read as an absent one: an object that is being
    // deleted would look alive.
    if (!parse_rfc3339(json.get_ref<const std::string&>(), t)) t = Timestamp::at(1);
    append_varint_field(out, 1, static_cast<uint64_t>(t.seconds()));
    append_varint_field(out, 2, static_cast<uint64_t>(t.nanos()));
    return out;
  }

  static std::string int_or_string(const Json& json) {
    std::string out;
    const bool is_string = json.is_string();
    append_varint_field(out, 1, is_string ? 1 : 0);
    append_varint_field(out, 2, json.is_number() ? static_cast<uint64_t>(json.get<int64_t>()) : 0);
    append_bytes_field(out, 3, is_string ? json.get<std::string>() : std::string());
    return out;
  }
};

std::string text_at(const Json& document, const char* member) {
  const auto found = document.find(member);
  return found != document.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::optional<std::string> encode_list(const Json& document, std::string_view item_kind) {
  const ObjectType* item = find_message_type(text_at(document, "apiVersion"), item_kind);
  if (item == nullptr) return std::nullopt;
  ProtobufList list(document.value("metadata", Json::object()));
  if (const auto items = document.find("items"); items->is_array()) {
    for (const Json& object : *items) list.add(*item, object);
  }
  return list.message();
}

}  // namespace

const ObjectType* find_message_type(std::string_view api_version, std::string_view kind) {
  return api::schema::find_message_type(builtin_schemas(), api_version, kind);
}

std::string encode_message(const ObjectType& type, const Json& object) {
  std::string out;
  MessageEncoder::message(type, object, out);
  return out;
}

ProtobufList::ProtobufList(const Json& metadata) {
  const ObjectType* type = builtin_schemas().find("meta/v1", "ListMeta");
  DRA_CHECK(type != nullptr);
  append_bytes_field(message_, kListMetadata, encode_message(*type, metadata));
}

void ProtobufList::add(const ObjectType& type, const Json& object) {
  append_bytes_field(message_, kListItems, encode_message(type, object));
}

std::string protobuf_envelope(std::string_view api_version, std::string_view kind, std::string_view message) {
  std::string type;
  append_bytes_field(type, 1, api_version);
  append_bytes_field(type, 2, kind);
  std::string out(kProtobufMagic);
  append_bytes_field(out, 1, type);
  append_bytes_field(out, 2, message);
  append_bytes_field(out, 3, "");  // contentEncoding
  append_bytes_field(out, 4, "");  // contentType
  return out;
}

std::optional<std::string> encode_protobuf_answer(const Json& document) {
  const std::string api_version = text_at(document, "apiVersion");
  const std::string kind = text_at(document, "kind");
  std::optional<std::string> message;
  if (kind.ends_with("List") && document.contains("items")) {
    message = encode_list(document, std::string_view(kind).substr(0, kind.size() - 4));
  } else if (const ObjectType* type = find_message_type(api_version, kind); type != nullptr) {
    message = encode_message(*type, document);
  }
  if (!message) return std::nullopt;
  return protobuf_envelope(api_version, kind, *message);
}

std::string protobuf_watch_frame(std::string_view type, std::string_view object) {
  std::string raw;
  append_bytes_field(raw, 1, object);
  std::string event;
  append_bytes_field(event, 1, type);
  append_bytes_field(event, 2, raw);
  std::string out;
  for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(event.size() >> shift);
  return out + event;
}

}  // namespace dra::apiserver
