#include "pkg/api/decode/protobuf_document.h"

#include <simdjson.h>

#include <cstring>

#include "pkg/api/decode/protobuf_shape.h"
#include "pkg/base/protobuf_wire.h"
#include "pkg/base/timestamp.h"
#include "pkg/base/utf8.h"

namespace dra::api::detail {

using schema::FieldType;

namespace {

constexpr size_t kKeptFields = 4096;  // kept from one document to the next

bool is_integer(FieldType type) {
  return type == FieldType::kInt32 || type == FieldType::kInt64 || type == FieldType::kBool;
}

// Nobody reads these.
bool is_unread(FieldType type) {
  return type == FieldType::kBytes || type == FieldType::kDouble || type == FieldType::kIntOrString;
}

// Most texts are ASCII, and short.
bool is_ascii(std::string_view text) {
  unsigned char all = 0;
  for (const char c : text) all |= static_cast<unsigned char>(c);
  return all < 0x80;
}

// Field 1 of a message that wraps one text: Quantity, RawExtension, FieldsV1.
bool unwrap(std::string_view message, std::string_view& out) {
  WireReader reader(message);
  while (reader.next())
    if (reader.number() == 1 && reader.wire() == kWireBytes) out = reader.bytes();
  return reader.ok();
}

// metav1.Time: seconds and nanoseconds since 1970. The API's own texts have seconds.
bool time_text(std::string_view message, bool micro, std::string& out) {
  WireReader reader(message);
  int64_t seconds = 0, nanos = 0;
  while (reader.next()) {
    if (reader.wire() != kWireVarint) continue;
    if (reader.number() == 1) seconds = static_cast<int64_t>(reader.value());
    if (reader.number() == 2) nanos = static_cast<int64_t>(reader.value());
  }
  if (!reader.ok() || nanos < 0 || nanos > 999'999'999) return false;
  const Timestamp time = Timestamp::at(seconds, static_cast<int32_t>(nanos));
  out = micro ? format_rfc3339_micro(time) : format_rfc3339(time);
  return true;
}

}  // namespace

// One field of an open message.
struct ProtobufDocument::Field {
  uint32_t number = 0;  // of the shape; joined for fields of inlined structs
  int wire = kWireVarint;
  uint64_t integer = 0;
  std::string_view bytes;
};

// What a WireValue keeps: for an object, a field of number 0 whose integer says which fields there are
// (ProtobufShape::bit_of), and after it the fields ..end of the message; for a list or map also these, of which
// those with the number of `first` belong to it; for everything else the field `first`.
struct ProtobufDocument::Reader {
  ProtobufDocument* document = nullptr;
  uint32_t first = 0;
  uint32_t end = 0;

  static Reader of(const WireValue& value) {
    static_assert(sizeof(Reader) == sizeof(value.storage_));
    Reader reader;
    std::memcpy(&reader, value.storage_, sizeof(reader));
    return reader;
  }
  static const ProtobufType& type(const WireValue& value) {
    return *static_cast<const ProtobufType*>(value.protobuf_type_);
  }
  WireValue value(const ProtobufType& type) const {
    WireValue out;
    std::memcpy(out.storage_, this, sizeof(*this));
    out.protobuf_type_ = &type;
    return out;
  }
  const Field& field() const { return document->fields_[first]; }

  bool fail(std::string problem) const {
    if (document->problem_.empty()) document->problem_ = std::move(problem);
    return false;
  }

  // What to do with a field that is not simply kept. Most fields are known and have low numbers, so this is rare; in
  // the loop itself it costs registers.
  enum class Next { kKeep, kSkip, kBroken };
  [[gnu::noinline]] Next unusual(const WireReader& reader, const ProtobufShape& shape, uint64_t& present) const {
    const auto number = static_cast<uint32_t>(reader.number());
    if (shape.watched && !shape.knows(number)) document->note_unknown(shape, reader.number());
    if (number == 0 || number >= kNumbersEnd) return Next::kSkip;
    const ProtobufShape* inlined = nullptr;
    for (const ProtobufShape::Inlined& part : shape.inlined)
      if (part.number == number) inlined = part.shape;
    if (inlined == nullptr || reader.wire() != kWireBytes) return Next::kKeep;
    return parse(reader.bytes(), *inlined, number, present) ? Next::kSkip : Next::kBroken;
  }

  // Appends the fields of a message, and adds to `present` which they are. `base` is that of an inlined struct.
  bool parse(std::string_view message, const ProtobufShape& shape, uint32_t base, uint64_t& present) const {
    WireReader reader(message);
    while (reader.next()) {
      const auto number = static_cast<uint32_t>(reader.number());
      if (number >= 64 || (shape.plain >> number & 1) == 0) {
        const Next next = unusual(reader, shape, present);
        if (next == Next::kBroken) return false;
        if (next == Next::kSkip) continue;
      }
      present |= shape.bit_of(number);
      if (document->fields_.size() >= kMaxFields) return fail("more fields than this program reads");
      Field& kept = document->fields_.emplace_back();
      kept.number = join_numbers(base, number);
      kept.wire = reader.wire();
      kept.integer = reader.value();
      if (reader.wire() == kWireBytes) kept.bytes = reader.bytes();
    }
    return reader.ok() || fail("a broken message of type " + std::string(shape.name));
  }

  bool open(std::string_view message, const ProtobufShape& shape, Reader& out) const {
    const auto begin = static_cast<uint32_t>(document->fields_.size());
    document->fields_.emplace_back();
    uint64_t present = 0;
    if (!parse(message, shape, 0, present)) return false;
    document->fields_[begin].integer = present;
    out = {document, begin, static_cast<uint32_t>(document->fields_.size())};
    return true;
  }

  // The value of the field `at`, which is not a list or map.
  bool single(const ProtobufType& type, uint32_t at, WireValue& out) const {
    const Field& field = document->fields_[at];
    if (field.wire != (is_integer(type.type) ? kWireVarint : kWireBytes))
      return fail("a field of wire type " + std::to_string(field.wire));
    Reader reader{document, at, at + 1};
    switch (type.type) {
      case FieldType::kObject:
        if (!open(field.bytes, *type.shape, reader)) return false;
        break;
      case FieldType::kTime:
      case FieldType::kMicroTime:
        if (field.bytes.empty()) return false;  // Go's zero time is null in JSON
        break;
      case FieldType::kRaw:
      case FieldType::kFields:
        return embedded(field.bytes, out);
      case FieldType::kString:
        if (!type.shown_when_zero && field.bytes.empty()) return false;
        break;
      case FieldType::kQuantity:
        break;
      default:
        if (!type.shown_when_zero && field.integer == 0) return false;
    }
    out = reader.value(type);
    return true;
  }

  bool embedded(std::string_view message, WireValue& out) const {
    std::string_view json;
    if (!unwrap(message, json)) return fail("broken embedded JSON");
    if (json.empty()) return false;
    if (document->open_parts() >= kMaxFields) return fail("more fields than this program reads");
    Result<JsonDocument> parsed = JsonDocument::parse(json);
    if (!parsed) return fail("embedded JSON: " + parsed.error().message());
    out = document->embedded_.emplace_back(std::move(*parsed)).root();
    return true;
  }

  bool text(std::string_view bytes, std::string_view& out) const {
    out = bytes;
    if (!is_ascii(bytes) && !simdjson::validate_utf8(bytes.data(), bytes.size()))
      out = document->texts_.emplace_back(valid_utf8(bytes));
    return true;
  }

  // The member of this object, false when absent.
  bool member(const ProtobufShape::Member& member, WireValue& out) const {
    const FieldType type = member.type->type;
    if (is_unread(type)) return false;
    if (type == FieldType::kList || type == FieldType::kMap) {
      for (uint32_t at = first; at < end; ++at) {
        if (document->fields_[at].number != member.number) continue;
        out = Reader{document, at, end}.value(*member.type);
        return true;
      }
      return false;
    }
    // If a field comes twice, the last one counts.
    for (uint32_t at = end; at > first; --at)
      if (document->fields_[at - 1].number == member.number) return single(*member.type, at - 1, out);
    return false;
  }

  // Calls visit(index of the field) for each element of this list or map; false when visit returns false.
  template <class F>
  bool each(F&& visit) const {
    const uint32_t number = field().number;
    for (uint32_t at = first; at < end; ++at)
      if (document->fields_[at].number == number && !visit(at)) return false;
    return true;
  }

  // Closes the messages and the embedded JSON that were opened since. A parser takes 80 KiB and more, and an object has
  // as many embedded ones as its author likes.
  struct Mark {
    size_t fields;
    size_t embedded;
  };
  Mark mark() const { return {document->fields_.size(), document->embedded_.size()}; }
  void close_to(const Mark& mark) const {
    document->fields_.resize(mark.fields);
    while (document->embedded_.size() > mark.embedded) document->embedded_.pop_back();
  }

  bool packed(const ProtobufType& element, std::string_view bytes, WireValue::ElementVisitor visitor,
              void* context) const {
    WireReader numbers(bytes);
    while (numbers.more()) {
      const uint64_t number = numbers.varint();
      if (!numbers.ok()) break;
      const Mark begin = mark();
      document->fields_.push_back({0, kWireVarint, number, {}});
      WireValue value;
      const bool go_on = !single(element, static_cast<uint32_t>(begin.fields), value) || visitor(context, value);
      close_to(begin);
      if (!go_on) return false;
    }
    return numbers.ok() || !fail("a broken list of numbers");
  }

  // Key and value of a map's entry.
  bool entry(const ProtobufType& element, uint32_t at, std::string_view& key, WireValue& out) const {
    const Field& field = document->fields_[at];
    if (field.wire != kWireBytes) return fail("a map's entry of wire type " + std::to_string(field.wire));
    Field value{2, is_integer(element.type) ? kWireVarint : kWireBytes, 0, {}};
    WireReader reader(field.bytes);
    while (reader.next()) {
      if (reader.number() == 1 && reader.wire() == kWireBytes) key = reader.bytes();
      if (reader.number() == 2) value = {2, reader.wire(), reader.value(), reader.bytes()};
    }
    if (!reader.ok()) return fail("a broken map");
    text(key, key);
    document->fields_.push_back(value);
    return single(element, static_cast<uint32_t>(document->fields_.size() - 1), out);
  }
};

ProtobufDocument::ProtobufDocument() = default;
ProtobufDocument::~ProtobufDocument() = default;

WireValue ProtobufDocument::open(std::string_view message, const ProtobufShape& shape) {
  close();
  problem_.clear();
  unknown_.clear();
  Reader root{this, 0, 0};
  if (!root.open(message, shape, root)) fields_.assign(1, {});  // an object without fields
  return root.value(shape.type);
}

void ProtobufDocument::close() {
  if (fields_.capacity() > kKeptFields) fields_ = {};
  fields_.clear();
  texts_.clear();
  embedded_.clear();
}

size_t ProtobufDocument::open_parts() const {
  return fields_.size() + embedded_.size();
}

WireValue::Kind ProtobufDocument::kind(const WireValue& value) {
  switch (Reader::type(value).type) {
    case FieldType::kObject:
    case FieldType::kMap:
      return WireValue::Kind::kObject;
    case FieldType::kList:
      return WireValue::Kind::kArray;
    case FieldType::kBool:
      return WireValue::Kind::kBool;
    case FieldType::kInt32:
    case FieldType::kInt64:
      return WireValue::Kind::kNumber;
    default:
      return WireValue::Kind::kString;
  }
}

bool ProtobufDocument::get(const WireValue& value, bool& out) {
  if (Reader::type(value).type != FieldType::kBool) return false;
  out = Reader::of(value).field().integer != 0;
  return true;
}

bool ProtobufDocument::get(const WireValue& value, int64_t& out) {
  if (kind(value) != WireValue::Kind::kNumber) return false;
  out = static_cast<int64_t>(Reader::of(value).field().integer);
  return true;
}

bool ProtobufDocument::get(const WireValue& value, std::string_view& out) {
  const Reader reader = Reader::of(value);
  const FieldType type = Reader::type(value).type;
  if (type == FieldType::kString) return reader.text(reader.field().bytes, out);
  if (type == FieldType::kQuantity) {
    std::string_view quantity = "0";
    return unwrap(reader.field().bytes, quantity) ? reader.text(quantity, out) : reader.fail("a broken quantity");
  }
  if (type != FieldType::kTime && type != FieldType::kMicroTime) return false;
  std::string text;
  if (!time_text(reader.field().bytes, type == FieldType::kMicroTime, text)) return reader.fail("a broken time");
  out = reader.document->texts_.emplace_back(std::move(text));
  return true;
}

bool ProtobufDocument::find(const WireValue& object, std::string_view key, WireValue& out) {
  const ProtobufType& type = Reader::type(object);
  if (type.type != FieldType::kObject) return false;
  const Reader reader = Reader::of(object);
  const ProtobufShape::Member* member = type.shape->find(key, reader.field().integer);
  return member != nullptr && reader.member(*member, out);
}

size_t ProtobufDocument::size(const WireValue& value) {
  const FieldType type = Reader::type(value).type;
  size_t count = 0;
  if (type == FieldType::kList || type == FieldType::kMap)
    Reader::of(value).each([&](uint32_t) {
      ++count;
      return true;
    });
  return count;
}

bool ProtobufDocument::each_element(const WireValue& list, WireValue::ElementVisitor visitor, void* context) {
  const ProtobufType& type = Reader::type(list);
  if (type.type != FieldType::kList) return true;
  const Reader reader = Reader::of(list);
  return reader.each([&](uint32_t at) {
    const Field& field = reader.document->fields_[at];
    if (is_integer(type.element->type) && field.wire == kWireBytes)
      return reader.packed(*type.element, field.bytes, visitor, context);
    const Reader::Mark begin = reader.mark();
    WireValue element;
    const bool go_on = !reader.single(*type.element, at, element) || visitor(context, element);
    reader.close_to(begin);
    return go_on;
  });
}

bool ProtobufDocument::each_member(const WireValue& value, WireValue::MemberVisitor visitor, void* context) {
  const ProtobufType& type = Reader::type(value);
  const Reader reader = Reader::of(value);
  WireValue member;
  if (type.type == FieldType::kObject) {
    for (const ProtobufShape::Member& m : type.shape->members)
      if (reader.member(m, member) && !visitor(context, m.name, member)) return false;
    return true;
  }
  if (type.type != FieldType::kMap) return true;
  return reader.each([&](uint32_t at) {
    const Reader::Mark begin = reader.mark();
    std::string_view key;
    const bool go_on = !reader.entry(*type.element, at, key, member) || visitor(context, key, member);
    reader.close_to(begin);
    return go_on;
  });
}

void ProtobufDocument::note_unknown(const ProtobufShape& shape, uint64_t number) {
  if (unknown_.empty()) unknown_ = "field " + std::to_string(number) + " of " + std::string(shape.name);
}

std::string_view ProtobufDocument::unknown_number(const WireValue& value) {
  return Reader::of(value).document->unknown_;
}

std::string ProtobufDocument::raw(const WireValue& value) {
  int64_t number = 0;
  return get(value, number) ? std::to_string(number) : std::string();
}

}  // namespace dra::api::detail
