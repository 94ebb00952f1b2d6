// Value: one value of the language, 16 bytes, trivially copyable. Everything larger than a word lives in an Arena, in a
// Program's constants or in a DeviceInput and is pointed to, so a Value is valid as long as its owner.
//
// Kinds and their meaning: cel-spec "Values"; the opaque kinds are those of k8s.io/apiserver/pkg/cel. Values are
// immutable once made and may be read from any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "pkg/cel/lib/arena.h"
#include "pkg/cel/lib/errors.h"

namespace dra::api {
class Quantity;
class Semver;
}  // namespace dra::api

namespace dra::cel::lib {
struct Ip;
struct Cidr;
struct Url;
struct NamedFormat;
}  // namespace dra::cel::lib

namespace dra::cel {

enum class Kind : uint8_t {
  kNull,
  kBool,
  kInt,
  kUint,
  kDouble,
  kString,
  kBytes,
  kList,
  kMap,
  kDuration,   // int64 nanoseconds
  kTimestamp,  // Unix seconds, nanoseconds, and the offset it was written with
  kType,       // the name of a type
  kOptional,
  kQuantity,
  kSemver,
  kIp,
  kCidr,
  kUrl,
  kFormat,
  kError,
};

struct Value;
struct ListRep;
struct MapRep;
struct ErrorRep;

struct Value {
  Kind kind = Kind::kNull;
  // Strings: 1 when known to be ASCII. Quantities: kComputedQuantity or 0.
  uint8_t flag = 0;
  int16_t offset_minutes = 0;  // timestamps
  uint32_t length = 0;         // strings and bytes: bytes; timestamps: nanoseconds
  union {
    bool b;
    int64_t i = 0;
    uint64_t u;
    double d;
    const char* text;
    const ListRep* list;
    const MapRep* map;
    const Value* optional;  // null: none
    const api::Quantity* quantity;
    const api::Semver* semver;
    const lib::Ip* ip;
    const lib::Cidr* cidr;
    const lib::Url* url;
    const lib::NamedFormat* format;
    const ErrorRep* error;
  };

  bool is_error() const { return kind == Kind::kError; }
  std::string_view str() const { return {text, length}; }

  static Value null() { return {}; }
  static Value of_bool(bool v);
  static Value of_int(int64_t v);
  static Value of_uint(uint64_t v);
  static Value of_double(double v);
  // The text is not copied. At most 2^32 - 1 bytes.
  static Value of_string(std::string_view v);
  // As of_string, and notes whether the text is ASCII (its size is then known without counting).
  static Value of_scanned_string(std::string_view v);
  static Value of_bytes(std::string_view v);
  static Value of_duration(int64_t nanos);
  static Value of_timestamp(int64_t seconds, uint32_t nanos, int16_t offset_minutes);
  static Value of_type(std::string_view name);
  static Value of_list(const ListRep* v);
  static Value of_map(const MapRep* v);
  static Value of_optional(const Value* content);
  static Value of_quantity(const api::Quantity* v);
  static Value of_semver(const api::Semver* v);
  static Value of_ip(const lib::Ip* v);
  static Value of_cidr(const lib::Cidr* v);
  static Value of_url(const lib::Url* v);
  static Value of_format(const lib::NamedFormat* v);
  static Value of_error(const ErrorRep* v);
};
static_assert(sizeof(Value) == 16);

// In Value::flag: the quantity is a sum or difference. Upstream keeps those in another Go type, with which `==` on the
// right side is an error.
inline constexpr uint8_t kComputedQuantity = 1;

struct ListRep {
  const Value* items = nullptr;
  uint32_t size = 0;
  uint32_t capacity = 0;  // of lists that an evaluation is still growing
  uint32_t weight = 0;    // parts when written out; see value_weight
};

struct MapEntry {
  Value key;
  Value value;
};

// Entries are sorted by compare_keys; keys are unique.
struct MapRep {
  const MapEntry* entries = nullptr;
  uint32_t size = 0;
  // A lookup of an absent key gives an empty map instead of an error (device.attributes, device.capacity).
  bool default_empty_map = false;
  // All keys are strings.
  bool string_keys = false;  // Part of a device: keys of other kinds are just not in it.
  bool device = false;
  uint32_t weight = 0;
};

// A failed evaluation. `message` is upstream's text; `subject` the missing key, index or attribute where there is one.
struct ErrorRep {
  RuntimeCategory category = RuntimeCategory::kInternal;
  std::string_view message;
  std::string_view subject;
  // Set when a device does not publish an attribute or capacity: its domain; `subject` is its name.
  std::string_view domain;
  bool attribute = false;
  bool capacity = false;
};

inline Value Value::of_bool(bool v) {
  Value r;
  r.kind = Kind::kBool;
  r.b = v;
  return r;
}
inline Value Value::of_int(int64_t v) {
  Value r;
  r.kind = Kind::kInt;
  r.i = v;
  return r;
}
inline Value Value::of_uint(uint64_t v) {
  Value r;
  r.kind = Kind::kUint;
  r.u = v;
  return r;
}
inline Value Value::of_double(double v) {
  Value r;
  r.kind = Kind::kDouble;
  r.d = v;
  return r;
}
inline Value Value::of_string(std::string_view v) {
  Value r;
  r.kind = Kind::kString;
  r.length = static_cast<uint32_t>(v.size());
  r.text = v.data();
  return r;
}
inline Value Value::of_bytes(std::string_view v) {
  Value r = of_string(v);
  r.kind = Kind::kBytes;
  return r;
}
inline Value Value::of_duration(int64_t nanos) {
  Value r = of_int(nanos);
  r.kind = Kind::kDuration;
  return r;
}
inline Value Value::of_timestamp(int64_t seconds, uint32_t nanos, int16_t offset_minutes) {
  Value r = of_int(seconds);
  r.kind = Kind::kTimestamp;
  r.length = nanos;
  r.offset_minutes = offset_minutes;
  return r;
}
inline Value Value::of_type(std::string_view name) {
  Value r = of_string(name);
  r.kind = Kind::kType;
  return r;
}
inline Value Value::of_list(const ListRep* v) {
  Value r;
  r.kind = Kind::kList;
  r.list = v;
  return r;
}
inline Value Value::of_map(const MapRep* v) {
  Value r;
  r.kind = Kind::kMap;
  r.map = v;
  return r;
}
inline Value Value::of_optional(const Value* content) {
  Value r;
  r.kind = Kind::kOptional;
  r.optional = content;
  return r;
}
inline Value Value::of_quantity(const api::Quantity* v) {
  Value r;
  r.kind = Kind::kQuantity;
  r.quantity = v;
  return r;
}
inline Value Value::of_semver(const api::Semver* v) {
  Value r;
  r.kind = Kind::kSemver;
  r.semver = v;
  return r;
}
inline Value Value::of_ip(const lib::Ip* v) {
  Value r;
  r.kind = Kind::kIp;
  r.ip = v;
  return r;
}
inline Value Value::of_cidr(const lib::Cidr* v) {
  Value r;
  r.kind = Kind::kCidr;
  r.cidr = v;
  return r;
}
inline Value Value::of_url(const lib::Url* v) {
  Value r;
  r.kind = Kind::kUrl;
  r.url = v;
  return r;
}
inline Value Value::of_format(const lib::NamedFormat* v) {
  Value r;
  r.kind = Kind::kFormat;
  r.format = v;
  return r;
}
inline Value Value::of_error(const ErrorRep* v) {
  Value r;
  r.kind = Kind::kError;
  r.error = v;
  return r;
}

// The name type(v) shows: "int", "google.protobuf.Duration", "kubernetes.Quantity".
std::string_view type_name(const Value& v);
// Upstream's Go type, as two of its messages have it ("types.Int", "cel.Quantity").
std::string_view go_type_name(const Value& v);

// Code points of a text; invalid bytes count as one each.
uint64_t code_points(std::string_view text);
uint64_t string_size(const Value& v);

// The weight of quantities of many digits (the work of their arithmetic), versions and URLs.
uint64_t opaque_weight(const Value& v);

// How many parts of a value there are to read: elements of lists and maps, at every depth and counted each time they
// are reached, and texts by 16 bytes. Evaluations spend it where upstream's cost does not reflect the work.
inline uint64_t value_weight(const Value& v) {
  switch (v.kind) {
    case Kind::kString:
    case Kind::kBytes:
      return v.length / 16;
    case Kind::kList:
      return v.list->weight;
    case Kind::kMap:
      return v.map->weight;
    case Kind::kOptional:
      return v.optional == nullptr ? 0 : 1 + value_weight(*v.optional);
    case Kind::kQuantity:
    case Kind::kSemver:
    case Kind::kUrl:
      return opaque_weight(v);
    default:
      return 0;
  }
}
// The weight of a list of these values, saturating.
uint32_t list_weight(const Value* items, size_t count);

// The result of `==`.
enum class Equality : uint8_t { kFalse, kTrue, kError };
Equality equal(const Value& a, const Value& b);

// Ordering of two values of one comparable kind, or of two numbers. kNone: no ordering between these kinds.
enum class Order : int8_t { kLess = -1, kEqual = 0, kGreater = 1, kNaN = 2, kNone = 3 };
Order compare(const Value& a, const Value& b);

// The order entries are kept in: bool < numbers < strings < other kinds; equal numbers by kind.
int compare_keys(const Value& a, const Value& b);
// Whether a value can be a key of a map. Besides bool, numbers and strings upstream's maps take whatever Go can hash:
// not bytes and not versions; lists, maps and quantities by identity.
bool valid_key(const Value& v);

// The order of int, uint or double against each other, as in == and <.
Order compare_numbers(const Value& a, const Value& b);

// The value of `key`, or null. Numeric keys of different kinds find each other (cel-go common/types/map.go).
const Value* find_key(const MapRep& map, const Value& key);

// Sorts and removes earlier duplicates (the last entry of a key wins). `entries` is reordered in place.
const MapRep* make_map(Arena& arena, MapEntry* entries, size_t count);

// Go-like rendering for messages and debugging: 5, "a", [1, 2], {k: v}. Long texts, lists and maps are cut off behind
// about 1,000 bytes.
std::string debug_text(const Value& v);
// As fmt's %v shows a key in "no such key: K".
std::string bare_text(const Value& v);

}  // namespace dra::cel
