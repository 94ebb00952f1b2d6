// ProtobufDocument: one protobuf message of the Kubernetes API, read as the JSON of the same object would be.
//
// Internal to pkg/api. The readers of decode_*.cc see a WireValue and do not know which encoding it came from,
// so an object means the same in both. Numbers and types of the fields come from the schema tables (pkg/api/schema).
//
//   ProtobufDocument document;
//   const WireValue pod = document.open(message, shape);
//   ... read(pod, out, trouble) ...
//   if (!document.ok()) ...   // the message was broken: what was read means nothing
//
// `shape` comes from protobuf_shape.h. As in JSON, a field that is not set is absent, and so is a plain field (no `*`
// and no `!` in the table) that is zero. Fields that no table names are skipped; of watched types (protobuf_shape.h)
// the first one is noted. Nothing reads fields of type bytes, double and IntOrString, so they are always absent.
//
// Bounds: the depth is that of the types; a document has at most kMaxFields fields open at a time. Only messages that
// somebody reads are parsed, so a malformed one that nobody reads goes unnoticed. Values are valid until the next
// open() or close(); an element of a list or map until its visitor returns. Not thread-safe.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "pkg/api/decode/wire_value.h"

namespace dra::api::detail {

struct ProtobufShape;

class ProtobufDocument {
 public:
  static constexpr size_t kMaxFields = size_t{1} << 20;

  ProtobufDocument();
  ~ProtobufDocument();
  ProtobufDocument(const ProtobufDocument&) = delete;
  ProtobufDocument& operator=(const ProtobufDocument&) = delete;

  // Invalidates all earlier values. `message` must outlive the values.
  WireValue open(std::string_view message, const ProtobufShape& shape);

  // Gives back what a large message took; a few buffers stay for the next one. Invalidates all values, but not
  // problem().
  void close();

  // The fields and embedded values that are open now. What they take is proportional to it.
  size_t open_parts() const;

  bool ok() const { return problem_.empty(); }
  // "a broken message of type PodSpec"
  const std::string& problem() const { return problem_; }

 private:
  friend class WireValue;
  struct Field;
  struct Reader;

  // What WireValue does with a value of this document.
  static WireValue::Kind kind(const WireValue& value);
  static bool get(const WireValue& value, bool& out);
  static bool get(const WireValue& value, int64_t& out);
  static bool get(const WireValue& value, std::string_view& out);
  static bool find(const WireValue& object, std::string_view key, WireValue& out);
  static size_t size(const WireValue& value);
  static bool each_element(const WireValue& list, WireValue::ElementVisitor visitor, void* context);
  static bool each_member(const WireValue& value, WireValue::MemberVisitor visitor, void* context);
  static std::string raw(const WireValue& value);
  static std::string_view unknown_number(const WireValue& value);
  void note_unknown(const ProtobufShape& shape, uint64_t number);

  std::vector<Field> fields_;          // of the messages that are open
  std::deque<std::string> texts_;      // of values that are not in the message as text: times, repaired UTF-8
  std::deque<JsonDocument> embedded_;  // of fields that hold JSON
  std::string problem_;
  std::string unknown_;  // "field 14 of Device"
};

}  // namespace dra::api::detail
