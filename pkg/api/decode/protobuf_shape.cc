#include "pkg/api/decode/protobuf_shape.h"

#include <deque>
#include <map>

#include "pkg/api/decode/unknown_rules.h"
#include "pkg/base/check.h"

namespace dra::api::detail {
namespace {

// Owns what it compiles; types refer to each other (a claim template holds a claim's spec), hence the map.
class Shapes {
 public:
  Shapes() : schemas_(schema::link_tables(schema::tables_in_use())) {
    for (const auto& [name, type] : schemas_.types()) shape(*type);
  }

  const ProtobufShape* find(std::string_view api_version, std::string_view kind) const {
    const schema::ObjectType* type = schema::find_message_type(schemas_, api_version, kind);
    return type == nullptr ? nullptr : &shapes_.at(type);
  }

 private:
  const ProtobufShape& shape(const schema::ObjectType& type) {
    const auto [at, fresh] = shapes_.try_emplace(&type);
    ProtobufShape& out = at->second;
    if (!fresh) return out;
    out.name = type.name;
    out.type = {schema::FieldType::kObject, true, nullptr, &out};
    for (const schema::Field* field : type.by_number) {
      const auto number = static_cast<uint32_t>(field->number);
      DRA_CHECK(number > 0 && number < kNumbersEnd);
      if (field->inlined) {
        const ProtobufShape& inner = shape(*field->value.object);
        DRA_CHECK(inner.inlined.empty());  // two numbers are joined, not three
        out.inlined.push_back({number, &inner});
        for (const ProtobufShape::Member& m : inner.members)
          out.members.push_back({m.name, join_numbers(number, m.number), m.type});
      } else {
        out.members.push_back({field->name, number, compile(field->value, field->always)});
      }
    }
    mark_plain(type, out);
    DRA_CHECK(out.members.size() < ProtobufShape::kSlots / 2);
    out.index();
    return out;
  }

  // Fields that the table has and that are not supported, or whose number is not known, count as unknown: the object is
  // then read as JSON, which names them.
  static void mark_plain(const schema::ObjectType& type, ProtobufShape& out) {
    out.watched = is_watched(type);
    if (out.watched)
      std::erase_if(out.members, [&](const auto& member) { return is_read_as_json(type.name, member.name); });
    for (const ProtobufShape::Inlined& part : out.inlined) out.plain &= ~(uint64_t{1} << part.number % 64);
    if (!out.watched) return;
    out.plain = 0;
    for (const ProtobufShape::Member& member : out.members)
      if (member.number < 64) out.plain |= uint64_t{1} << member.number;
  }

  const ProtobufType* compile(const schema::ValueType& value, bool always) {
    ProtobufType& out = types_.emplace_back();
    out.type = value.type;
    out.shown_when_zero = value.pointer || always;
    if (value.object != nullptr) out.shape = &shape(*value.object);
    if (value.element) out.element = compile(*value.element, true);
    return &out;
  }

  const schema::SchemaSet schemas_;
  std::map<const schema::ObjectType*, ProtobufShape> shapes_;
  std::deque<ProtobufType> types_;
};

}  // namespace

const ProtobufShape* protobuf_shape(std::string_view api_version, std::string_view kind) {
  static const Shapes shapes;
  return shapes.find(api_version, kind);
}

}  // namespace dra::api::detail
