#include "pkg/apiserver/codec/protobuf.h"

#include <cstring>
#include <nlohmann/json.hpp>

#include "pkg/apiserver/codec/go_time.h"
#include "pkg/apiserver/model/json_text.h"
#include "pkg/base/protobuf_wire.h"
#include "pkg/base/strings.h"
#include "pkg/base/timestamp.h"
#include "pkg/base/utf8.h"

namespace dra::apiserver {

namespace {

constexpr int kMaxMessageDepth = 64;

class MessageDecoder {
 public:
  bool message(const ObjectType& type, std::string_view data, Json& out, int depth) {
    if (depth > kMaxMessageDepth) return false;
    WireReader r(data);
    while (r.next()) {
      const Field* field = nullptr;
      for (const auto& f : type.fields) {
        if (f.number == r.number()) field = &f;
      }
      if (field == nullptr) continue;
      if (field->inlined) {
        if (r.wire() != 2 || !message(*field->value.object, r.bytes(), out, depth + 1)) return false;
        continue;
      }
      if (!put(field->value, r, out[field->name], depth)) return false;
    }
    return r.ok();
  }

 private:
  bool put(const ValueType& type, const WireReader& r, Json& slot, int depth) {
    if (type.type == FieldType::kList) {
      if (slot.is_null()) slot = Json::array();
      return append(*type.element, r, slot, depth);
    }
    if (type.type == FieldType::kMap) {
      if (slot.is_null()) slot = Json::object();
      return entry(*type.element, r, slot, depth);
    }
    return single(type, r, slot, depth);
  }

  bool append(const ValueType& element, const WireReader& r, Json& list, int depth) {
    const bool number = element.type == FieldType::kInt32 || element.type == FieldType::kInt64;
    if (number && r.wire() == 2) {
      WireReader packed(r.bytes());
      while (packed.more()) list.push_back(static_cast<int64_t>(packed.varint()));
      return packed.ok();
    }
    list.push_back(nullptr);
    return single(element, r, list.back(), depth);
  }

  bool entry(const ValueType& element, const WireReader& r, Json& map, int depth) {
    if (r.wire() != 2) return false;
    WireReader e(r.bytes());
    std::string key;
    Json value;
    while (e.next()) {
      if (e.number() == 1 && e.wire() == 2) key = valid_utf8(e.bytes());
      if (e.number() == 2 && !entry_value(element, e, value, depth + 1)) return false;
    }
    map[key] = std::move(value);
    return e.ok();
  }

  // A map's lists are wrapped in a message of their own (authorization's ExtraValue: items = 1).
  bool entry_value(const ValueType& element, const WireReader& r, Json& value, int depth) {
    if (element.type != FieldType::kList) return put(element, r, value, depth);
    if (r.wire() != 2) return false;
    value = Json::array();
    WireReader items(r.bytes());
    while (items.next()) {
      if (items.number() == 1 && !append(*element.element, items, value, depth)) return false;
    }
    return items.ok();
  }

  bool single(const ValueType& type, const WireReader& r, Json& out, int depth) {
    switch (type.type) {
      case FieldType::kInt32:
      case FieldType::kInt64:
        if (r.wire() != 0) return false;
        out = static_cast<int64_t>(r.value());
        return true;
      case FieldType::kBool:
        if (r.wire() != 0) return false;
        out = r.value() != 0;
        return true;
      case FieldType::kDouble: {
        if (r.wire() != 1) return false;
        double d = 0;
        const uint64_t bits = r.value();
        std::memcpy(&d, &bits, sizeof d);
        out = d;
        return true;
      }
      default:
        return r.wire() == 2 && bytes_value(type, r.bytes(), out, depth);
    }
  }

  bool bytes_value(const ValueType& type, std::string_view bytes, Json& out, int depth) {
    switch (type.type) {
      case FieldType::kString:
        out = valid_utf8(bytes);
        return true;
      case FieldType::kBytes:
        out = base64_encode(bytes);
        return true;
      case FieldType::kTime:
      case FieldType::kMicroTime:
        return time_value(type.type == FieldType::kMicroTime, bytes, out);
      case FieldType::kQuantity:
        return quantity_value(bytes, out);
      case FieldType::kIntOrString:
        return int_or_string_value(bytes, out);
      case FieldType::kRaw:
      case FieldType::kFields:
        return raw_value(bytes, out);
      case FieldType::kObject:
        if (out.is_null()) out = Json::object();
        return message(*type.object, bytes, out, depth + 1);
      default:
        return false;
    }
  }

  static bool time_value(bool micro, std::string_view bytes, Json& out) {
    out = nullptr;
    if (bytes.empty()) return true;
    WireReader r(bytes);
    int64_t seconds = 0;
    int64_t nanos = 0;
    while (r.next()) {
      if (r.number() == 1) seconds = static_cast<int64_t>(r.value());
      if (r.number() == 2) nanos = static_cast<int64_t>(r.value());
    }
    if (!r.ok() || nanos < 0 || nanos > 999'999'999) return false;
    const Timestamp t = Timestamp::at(seconds, static_cast<int32_t>(nanos));
    if (!is_go_zero(t, micro)) out = micro ? format_rfc3339_micro(t) : format_rfc3339(t);
    return true;
  }

  static bool quantity_value(std::string_view bytes, Json& out) {
    WireReader r(bytes);
    out = "0";
    while (r.next()) {
      if (r.number() == 1) out = std::string(r.bytes());
    }
    return r.ok();
  }

  static bool int_or_string_value(std::string_view bytes, Json& out) {
    WireReader r(bytes);
    bool is_string = false;
    int64_t number = 0;
    std::string text;
    while (r.next()) {
      if (r.number() == 1) is_string = r.value() == 1;
      if (r.number() == 2) number = static_cast<int32_t>(r.value());
      if (r.number() == 3) text = r.bytes();
    }
    out = is_string ? Json(text) : Json(number);
    return r.ok();
  }

  static bool raw_value(std::string_view bytes, Json& out) {
    WireReader r(bytes);
    out = nullptr;
    while (r.next()) {
      if (r.number() != 1) continue;
      std::vector<std::string> duplicates;
      std::string error;
      if (!parse_json(r.bytes(), out, duplicates, error)) return false;
    }
    return r.ok();
  }
};

}  // namespace

StatusOr<Json> decode_protobuf_body(std::string_view body, const BodyKind& expected) {
  auto refused = [&](const std::string& why) {
    return fail_status(
        bad_request("the object provided is unrecognized (must be of type " + expected.kind + "): " + why));
  };
  if (!body.starts_with(kProtobufMagic)) {
    std::string hex;
    for (unsigned char c : body.substr(0, 1024)) {
      hex += "0123456789abcdef"[c >> 4];
      hex += "0123456789abcdef"[c & 15];
    }
    return refused("provided data does not appear to be a protobuf message, expected prefix [107 56 115 0] (" + hex +
                   ")");
  }
  WireReader envelope(body.substr(kProtobufMagic.size()));
  std::string api_version;
  std::string kind;
  std::string_view raw;
  while (envelope.next()) {
    if (envelope.number() == 1) {
      WireReader meta(envelope.bytes());
      while (meta.next()) {
        if (meta.number() == 1) api_version = meta.bytes();
        if (meta.number() == 2) kind = meta.bytes();
      }
    } else if (envelope.number() == 2) {
      raw = envelope.bytes();
    }
  }
  if (!envelope.ok()) return refused("the envelope is not a protobuf message");
  Json out = Json::object();
  const bool same = kind.empty() || (kind == expected.kind && (api_version.empty() || expected.gv.version.empty() ||
                                                               api_version == expected.gv.text()));
  if (same && expected.schema == nullptr) return refused("protobuf is not served for this kind, send JSON");
  if (same && !MessageDecoder().message(*expected.schema, raw, out, 0))
    return refused("the object is not a protobuf message");
  out["apiVersion"] = api_version.empty() ? expected.gv.text() : api_version;
  out["kind"] = kind.empty() ? expected.kind : kind;
  return out;
}

}  // namespace dra::apiserver
