#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "cmd/dra-conformance/cel_run.h"
#include "pkg/api/quantity.h"
#include "pkg/api/semver.h"
#include "pkg/base/strings.h"
#include "pkg/cel/lib/number.h"
#include "pkg/cel/lib/time.h"

namespace dra::conformance {

namespace {

using cel::Kind;
using cel::Value;
using Json = nlohmann::json;

std::string double_tag(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  return cel::lib::format_double(value);
}

std::string duration_tag(int64_t nanos) {
  std::string text = std::to_string(nanos / 1'000'000'000);
  if (nanos < 0 && nanos > -1'000'000'000) text = "-0";
  const auto fraction = static_cast<uint64_t>(std::llabs(nanos % 1'000'000'000));
  if (fraction != 0) {
    std::string digits = std::to_string(fraction);
    digits.insert(0, 9 - digits.size(), '0');
    text += "." + digits;
  }
  return text + "s";
}

const cel::ListRep* list_from_tagged(const Json& items, cel::Arena& arena) {
  auto* values = arena.array<Value>(items.size());
  for (size_t i = 0; i < items.size(); ++i) values[i] = value_from_tagged(items[i], arena);
  return arena.make<cel::ListRep>(cel::ListRep{values, static_cast<uint32_t>(items.size())});
}

const cel::MapRep* map_from_tagged(const Json& entries, cel::Arena& arena) {
  auto* pairs = arena.array<cel::MapEntry>(entries.size());
  for (size_t i = 0; i < entries.size(); ++i)
    pairs[i] = {value_from_tagged(entries[i][0], arena), value_from_tagged(entries[i][1], arena)};
  return cel::make_map(arena, pairs, entries.size());
}

Value timestamp_from_text(const std::string& text) {
  const auto t = cel::lib::parse_timestamp(text);
  return t ? Value::of_timestamp(t->seconds, t->nanos, t->offset_minutes) : Value::null();
}

bool same_list(const Json& a, const Json& b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), same_tagged);
}

bool same_map(const Json& a, const Json& b) {
  if (a.size() != b.size()) return false;
  return std::all_of(a.begin(), a.end(), [&](const Json& entry) {
    return std::any_of(b.begin(), b.end(), [&](const Json& other) {
      return same_tagged(entry[0], other[0]) && same_tagged(entry[1], other[1]);
    });
  });
}

bool same_number(const std::string& a, const std::string& b) {
  if (a == b) return true;
  const auto x = cel::lib::parse_double(a);
  const auto y = cel::lib::parse_double(b);
  return x && y && (*x == *y || (std::isnan(*x) && std::isnan(*y)));
}

}  // namespace

nlohmann::ordered_json tagged_value(const Value& v) {
  using nlohmann::ordered_json;
  switch (v.kind) {
    case Kind::kNull:
      return {{"null", nullptr}};
    case Kind::kBool:
      return {{"bool", v.b}};
    case Kind::kInt:
      return {{"int", std::to_string(v.i)}};
    case Kind::kUint:
      return {{"uint", std::to_string(v.u)}};
    case Kind::kDouble:
      return {{"double", double_tag(v.d)}};
    case Kind::kString:
      return {{"string", std::string(v.str())}};
    case Kind::kBytes:
      return {{"bytes", base64_encode(v.str())}};
    case Kind::kType:
      return {{"type", std::string(v.str())}};
    case Kind::kDuration:
      return {{"duration", duration_tag(v.i)}};
    case Kind::kTimestamp:
      return {{"timestamp", cel::lib::format_timestamp({v.i, v.length, 0})}};
    case Kind::kOptional:
      return {{"optional", v.optional == nullptr ? ordered_json() : tagged_value(*v.optional)}};
    case Kind::kList: {
      ordered_json items = ordered_json::array();
      for (uint32_t i = 0; i < v.list->size; ++i) items.push_back(tagged_value(v.list->items[i]));
      return {{"list", items}};
    }
    case Kind::kMap: {
      ordered_json entries = ordered_json::array();
      for (uint32_t i = 0; i < v.map->size; ++i) {
        ordered_json entry = ordered_json::array();
        entry.push_back(tagged_value(v.map->entries[i].key));
        entry.push_back(tagged_value(v.map->entries[i].value));
        entries.push_back(std::move(entry));
      }
      return {{"map", entries}};
    }
    case Kind::kQuantity:
      return {{"quantity", v.quantity->to_string()}};
    case Kind::kSemver:
      return {{"semver", v.semver->to_string()}};
    default:
      return {{"opaque", cel::debug_text(v)}};
  }
}

Value value_from_tagged(const Json& tagged, cel::Arena& arena) {
  if (!tagged.is_object() || tagged.empty()) return Value::null();
  const std::string& tag = tagged.begin().key();
  const Json& body = tagged.begin().value();
  if (tag == "bool") return Value::of_bool(body.get<bool>());
  if (tag == "list") return Value::of_list(list_from_tagged(body, arena));
  if (tag == "map") return Value::of_map(map_from_tagged(body, arena));
  if (!body.is_string()) return Value::null();
  const auto& text = body.get_ref<const std::string&>();
  if (tag == "int") return Value::of_int(cel::lib::parse_int(text).value_or(0));
  if (tag == "uint") return Value::of_uint(cel::lib::parse_uint(text).value_or(0));
  if (tag == "double") return Value::of_double(cel::lib::parse_double(text).value_or(0));
  if (tag == "string") return Value::of_scanned_string(arena.copy(text));
  if (tag == "type") return Value::of_type(arena.copy(text));
  if (tag == "duration") return Value::of_duration(cel::lib::parse_duration(text).value_or(0));
  if (tag == "timestamp") return timestamp_from_text(text);
  if (tag == "bytes") {
    std::string bytes;
    base64_decode(text, bytes);
    return Value::of_bytes(arena.copy(bytes));
  }
  if (tag == "error")
    return Value::of_error(arena.make<cel::ErrorRep>(
        cel::ErrorRep{cel::RuntimeCategory::kInternal, arena.copy(text), std::string_view{}}));
  return Value::null();
}

bool same_tagged(const Json& a, const Json& b) {
  if (!a.is_object() || !b.is_object() || a.size() != 1 || b.size() != 1) return a == b;
  if (a.begin().key() != b.begin().key()) return false;
  const std::string& tag = a.begin().key();
  const Json& x = a.begin().value();
  const Json& y = b.begin().value();
  if (tag == "list") return same_list(x, y);
  if (tag == "map") return same_map(x, y);
  if (tag == "double") return same_number(x.get<std::string>(), y.get<std::string>());
  if (tag == "optional") return same_tagged(x, y);
  if (tag == "duration" || tag == "timestamp") {
    cel::Arena arena;
    return cel::equal(value_from_tagged(a, arena), value_from_tagged(b, arena)) == cel::Equality::kTrue;
  }
  return x == y;
}

}  // namespace dra::conformance
