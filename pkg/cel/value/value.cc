#include "pkg/cel/value/value.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "pkg/api/quantity.h"
#include "pkg/api/semver.h"
#include "pkg/base/utf8.h"
#include "pkg/cel/lib/named_format.h"
#include "pkg/cel/lib/net.h"
#include "pkg/cel/lib/number.h"
#include "pkg/cel/lib/time.h"
#include "pkg/cel/lib/url.h"

namespace dra::cel {
namespace {

bool is_ascii(std::string_view text) {
  size_t i = 0;
  for (; i + 8 <= text.size(); i += 8) {
    uint64_t word = 0;
    std::memcpy(&word, text.data() + i, 8);
    if ((word & 0x8080808080808080ULL) != 0) return false;
  }
  for (; i < text.size(); ++i) {
    if ((static_cast<unsigned char>(text[i]) & 0x80) != 0) return false;
  }
  return true;
}

Order order_of(int c) {
  return c < 0 ? Order::kLess : c > 0 ? Order::kGreater : Order::kEqual;
}

template <typename T>
Order compare_plain(T a, T b) {
  return a < b ? Order::kLess : b < a ? Order::kGreater : Order::kEqual;
}

Order reversed(Order order) {
  if (order == Order::kLess) return Order::kGreater;
  return order == Order::kGreater ? Order::kLess : order;
}

Order compare_int_uint(int64_t a, uint64_t b) {
  return a < 0 ? Order::kLess : compare_plain(static_cast<uint64_t>(a), b);
}

// Integers are converted to double unless the double is out of their range (cel-go common/types/compare.go).
Order compare_int_double(int64_t a, double b) {
  if (std::isnan(b)) return Order::kNaN;
  if (b < -9223372036854775808.0) return Order::kGreater;
  if (b > 9223372036854775808.0) return Order::kLess;
  return compare_plain(static_cast<double>(a), b);
}

Order compare_uint_double(uint64_t a, double b) {
  if (std::isnan(b)) return Order::kNaN;
  if (b < 0) return Order::kGreater;
  if (b > 18446744073709551616.0) return Order::kLess;
  return compare_plain(static_cast<double>(a), b);
}

bool is_number(Kind kind) {
  return kind == Kind::kInt || kind == Kind::kUint || kind == Kind::kDouble;
}

Equality of(bool b) {
  return b ? Equality::kTrue : Equality::kFalse;
}

// Elements whose comparison is an error count as equal (cel-go common/types/list.go: only `False` ends the loop).
Equality equal_lists(const ListRep& a, const ListRep& b) {
  if (a.size != b.size) return Equality::kFalse;
  for (uint32_t i = 0; i < a.size; ++i) {
    if (equal(a.items[i], b.items[i]) == Equality::kFalse) return Equality::kFalse;
  }
  return Equality::kTrue;
}

Equality equal_maps(const MapRep& a, const MapRep& b) {
  if (a.size != b.size) return Equality::kFalse;
  for (uint32_t i = 0; i < a.size; ++i) {
    const Value* other = find_key(b, a.entries[i].key);
    if (other == nullptr || equal(a.entries[i].value, *other) == Equality::kFalse) return Equality::kFalse;
  }
  return Equality::kTrue;
}

Equality equal_optionals(const Value& a, const Value& b) {
  if (a.optional == nullptr || b.optional == nullptr) return of(a.optional == b.optional);
  return equal(*a.optional, *b.optional);
}

int key_group(Kind kind) {
  if (kind == Kind::kBool) return 0;
  if (is_number(kind)) return 1;
  return kind == Kind::kString ? 2 : 3 + static_cast<int>(kind);
}

// Keys of one kind that is neither bool, number nor string.
int compare_other_keys(const Value& a, const Value& b) {
  switch (a.kind) {
    case Kind::kNull:
      return 0;
    case Kind::kType:
      return a.str().compare(b.str());
    case Kind::kDuration:
    case Kind::kTimestamp:
      if (a.i != b.i) return a.i < b.i ? -1 : 1;
      return a.length < b.length ? -1 : a.length > b.length ? 1 : 0;
    default:
      return a.u < b.u ? -1 : a.u > b.u ? 1 : 0;
  }
}

// Maps whose keys are all strings, with a string.
const Value* search_string(const MapRep& map, std::string_view key) {
  uint32_t lo = 0;
  uint32_t hi = map.size;
  while (lo < hi) {
    uint32_t mid = (lo + hi) / 2;
    int c = map.entries[mid].key.str().compare(key);
    if (c == 0) return &map.entries[mid].value;
    if (c < 0) {
      lo = mid + 1;
    } else {
      hi = mid;
    }
  }
  return nullptr;
}

const Value* search(const MapRep& map, const Value& key) {
  if (map.string_keys) return key.kind == Kind::kString ? search_string(map, key.str()) : nullptr;
  uint32_t lo = 0;
  uint32_t hi = map.size;
  while (lo < hi) {
    uint32_t mid = (lo + hi) / 2;
    if (compare_keys(map.entries[mid].key, key) < 0) {
      lo = mid + 1;
    } else {
      hi = mid;
    }
  }
  if (lo == map.size || compare_keys(map.entries[lo].key, key) != 0) return nullptr;
  return &map.entries[lo].value;
}

// A double that is exactly an integer of the other kinds.
bool as_exact_int(double d, int64_t& out) {
  if (!(d >= -9223372036854775808.0 && d < 9223372036854775808.0) || d != std::trunc(d)) return false;
  out = static_cast<int64_t>(d);
  return true;
}
bool as_exact_uint(double d, uint64_t& out) {
  if (!(d >= 0 && d < 18446744073709551616.0) || d != std::trunc(d)) return false;
  out = static_cast<uint64_t>(d);
  return true;
}

const Value* search_number(const MapRep& map, const Value& key) {
  if (const Value* found = search(map, key)) return found;
  switch (key.kind) {
    case Kind::kInt:
      return key.i < 0 ? nullptr : search(map, Value::of_uint(static_cast<uint64_t>(key.i)));
    case Kind::kUint:
      return key.u > INT64_MAX ? nullptr : search(map, Value::of_int(static_cast<int64_t>(key.u)));
    case Kind::kDouble: {
      int64_t i = 0;
      if (as_exact_int(key.d, i)) {
        if (const Value* found = search(map, Value::of_int(i))) return found;
      }
      uint64_t u = 0;
      return as_exact_uint(key.d, u) ? search(map, Value::of_uint(u)) : nullptr;
    }
    default:
      return nullptr;
  }
}

}  // namespace

Value Value::of_scanned_string(std::string_view v) {
  Value r = of_string(v);
  r.flag = is_ascii(v) ? 1 : 0;
  return r;
}

std::string_view type_name(const Value& v) {
  switch (v.kind) {
    case Kind::kNull:
      return "null_type";
    case Kind::kBool:
      return "bool";
    case Kind::kInt:
      return "int";
    case Kind::kUint:
      return "uint";
    case Kind::kDouble:
      return "double";
    case Kind::kString:
      return "string";
    case Kind::kBytes:
      return "bytes";
    case Kind::kList:
      return "list";
    case Kind::kMap:
      return "map";
    case Kind::kDuration:
      return "google.protobuf.Duration";
    case Kind::kTimestamp:
      return "google.protobuf.Timestamp";
    case Kind::kType:
      return "type";
    case Kind::kOptional:
      return "optional_type";
    case Kind::kQuantity:
      return "kubernetes.Quantity";
    case Kind::kSemver:
      return "kubernetes.Semver";
    case Kind::kIp:
      return "net.IP";
    case Kind::kCidr:
      return "net.CIDR";
    case Kind::kUrl:
      return "kubernetes.URL";
    case Kind::kFormat:
      return "kubernetes.NamedFormat";
    case Kind::kError:
      return "error";
  }
  return "";
}

std::string_view go_type_name(const Value& v) {
  switch (v.kind) {
    case Kind::kNull:
      return "types.Null";
    case Kind::kBool:
      return "types.Bool";
    case Kind::kInt:
      return "types.Int";
    case Kind::kUint:
      return "types.Uint";
    case Kind::kDouble:
      return "types.Double";
    case Kind::kString:
      return "types.String";
    case Kind::kBytes:
      return "types.Bytes";
    case Kind::kList:
      return "*types.baseList";
    case Kind::kMap:
      return "*types.baseMap";
    case Kind::kDuration:
      return "types.Duration";
    case Kind::kTimestamp:
      return "types.Timestamp";
    case Kind::kType:
      return "*types.Type";
    case Kind::kOptional:
      return "*types.Optional";
    case Kind::kQuantity:
      return "cel.Quantity";
    case Kind::kSemver:
      return "cel.Semver";
    case Kind::kIp:
      return "cel.IP";
    case Kind::kCidr:
      return "cel.CIDR";
    case Kind::kUrl:
      return "cel.URL";
    case Kind::kFormat:
      return "*cel.Format";
    case Kind::kError:
      return "*types.Err";
  }
  return "";
}

uint64_t code_points(std::string_view text) {
  uint64_t n = 0;
  for (size_t i = 0; i < text.size(); ++n) {
    while (i + 8 <= text.size() && is_ascii(text.substr(i, 8))) {
      i += 8;
      n += 8;
    }
    if (i == text.size()) break;
    size_t length = utf8_length(text, i);
    i += length == 0 ? 1 : length;
  }
  return n;
}

uint64_t string_size(const Value& v) {
  if (v.flag == 1) return v.length;
  std::string_view text = v.str();
  return is_ascii(text) ? text.size() : code_points(text);
}

Order compare_numbers(const Value& a, const Value& b) {
  switch (a.kind) {
    case Kind::kInt:
      if (b.kind == Kind::kInt) return compare_plain(a.i, b.i);
      if (b.kind == Kind::kUint) return compare_int_uint(a.i, b.u);
      return compare_int_double(a.i, b.d);
    case Kind::kUint:
      if (b.kind == Kind::kUint) return compare_plain(a.u, b.u);
      if (b.kind == Kind::kInt) return reversed(compare_int_uint(b.i, a.u));
      return compare_uint_double(a.u, b.d);
    default:
      if (b.kind == Kind::kInt) return reversed(compare_int_double(b.i, a.d));
      if (b.kind == Kind::kUint) return reversed(compare_uint_double(b.u, a.d));
      if (std::isnan(a.d) || std::isnan(b.d)) return Order::kNaN;
      return compare_plain(a.d, b.d);
  }
}

Equality equal(const Value& a, const Value& b) {
  if (a.kind == Kind::kNull || b.kind == Kind::kNull) return of(a.kind == b.kind);
  if (is_number(a.kind)) return of(is_number(b.kind) && compare_numbers(a, b) == Order::kEqual);
  bool same = a.kind == b.kind;
  switch (a.kind) {
    case Kind::kBool:
      return of(same && a.b == b.b);
    case Kind::kString:
    case Kind::kBytes:
    case Kind::kType:
      return of(same && a.str() == b.str());
    case Kind::kDuration:
      return of(same && a.i == b.i);
    case Kind::kTimestamp:
      return of(same && a.i == b.i && a.length == b.length);
    case Kind::kList:
      return same ? equal_lists(*a.list, *b.list) : Equality::kFalse;
    case Kind::kMap:
      return same ? equal_maps(*a.map, *b.map) : Equality::kFalse;
    case Kind::kOptional:
      return same ? equal_optionals(a, b) : Equality::kFalse;
    case Kind::kQuantity:
      if (!same || b.flag == kComputedQuantity) return Equality::kError;
      return of(*a.quantity == *b.quantity);
    case Kind::kSemver:
      return same ? of(*a.semver == *b.semver) : Equality::kError;
    case Kind::kIp:
      return same ? of(*a.ip == *b.ip) : Equality::kError;
    case Kind::kCidr:
      return same ? of(*a.cidr == *b.cidr) : Equality::kError;
    case Kind::kUrl:
      return same ? of(*a.url == *b.url) : Equality::kError;
    case Kind::kFormat:
      return same ? of(a.format->name == b.format->name) : Equality::kError;
    default:
      return Equality::kError;
  }
}

Order compare(const Value& a, const Value& b) {
  if (is_number(a.kind)) return is_number(b.kind) ? compare_numbers(a, b) : Order::kNone;
  if (a.kind != b.kind) return Order::kNone;
  switch (a.kind) {
    case Kind::kBool:
      return compare_plain(a.b, b.b);
    case Kind::kString:
    case Kind::kBytes:
      return order_of(a.str().compare(b.str()));
    case Kind::kDuration:
      return compare_plain(a.i, b.i);
    case Kind::kTimestamp:
      return a.i != b.i ? compare_plain(a.i, b.i) : compare_plain(a.length, b.length);
    default:
      return Order::kNone;
  }
}

bool valid_key(const Value& v) {
  return v.kind != Kind::kBytes && v.kind != Kind::kSemver && v.kind != Kind::kError;
}

int compare_keys(const Value& a, const Value& b) {
  int ga = key_group(a.kind);
  int gb = key_group(b.kind);
  if (ga != gb) return ga < gb ? -1 : 1;
  if (ga == 0) return static_cast<int>(a.b) - static_cast<int>(b.b);
  if (ga == 2) return a.str().compare(b.str());
  if (ga > 2) return compare_other_keys(a, b);
  Order order = compare_numbers(a, b);
  if (order == Order::kNaN) {
    // NaN keys sort behind all numbers and are never found.
    bool an = a.kind == Kind::kDouble && std::isnan(a.d);
    bool bn = b.kind == Kind::kDouble && std::isnan(b.d);
    if (an != bn) return an ? 1 : -1;
    return 1;
  }
  if (order != Order::kEqual) return static_cast<int>(order);
  if (a.kind != b.kind) return a.kind < b.kind ? -1 : 1;
  return 0;
}

const Value* find_key(const MapRep& map, const Value& key) {
  if (!valid_key(key)) return nullptr;
  if (is_number(key.kind)) return map.string_keys ? nullptr : search_number(map, key);
  return search(map, key);
}

uint64_t opaque_weight(const Value& v) {
  if (v.kind == Kind::kQuantity) {
    const uint64_t words = v.quantity->words();
    return words <= 2 ? 0 : words * words / 8 + 4 * words;
  }
  return v.kind == Kind::kSemver ? v.semver->prerelease().size() / 4 : v.url->text.size() / 16;
}

uint32_t list_weight(const Value* items, size_t count) {
  uint64_t weight = count;
  for (size_t i = 0; i < count; ++i) weight += value_weight(items[i]);
  return static_cast<uint32_t>(std::min<uint64_t>(weight, UINT32_MAX));
}

const MapRep* make_map(Arena& arena, MapEntry* entries, size_t count) {
  std::stable_sort(entries, entries + count,
                   [](const MapEntry& a, const MapEntry& b) { return compare_keys(a.key, b.key) < 0; });
  size_t kept = 0;
  uint64_t weight = 0;
  bool strings = true;
  for (size_t i = 0; i < count; ++i) {
    if (i + 1 < count && compare_keys(entries[i].key, entries[i + 1].key) == 0) continue;
    strings = strings && entries[i].key.kind == Kind::kString;
    weight += 2 + value_weight(entries[i].key) + value_weight(entries[i].value);
    entries[kept++] = entries[i];
  }
  auto* map = arena.make<MapRep>();
  map->entries = entries;
  map->size = static_cast<uint32_t>(kept);
  map->string_keys = strings;
  map->weight = static_cast<uint32_t>(std::min<uint64_t>(weight, UINT32_MAX));
  return map;
}

namespace {

// About how many bytes of a value a message shows at most: a message has a few of these.
constexpr size_t kMaxShown = 1024;

std::string shown(std::string_view text) {
  if (text.size() <= kMaxShown) return std::string(text);
  return std::string(utf8_prefix(text, kMaxShown)) + "...";
}

std::string debug_list(const ListRep& list) {
  std::string out = "[";
  for (uint32_t i = 0; i < list.size; ++i) {
    if (i > 0) out += ", ";
    if (out.size() > kMaxShown) return out + "...]";
    out += debug_text(list.items[i]);
  }
  return out + "]";
}

std::string debug_map(const MapRep& map) {
  std::string out = "{";
  for (uint32_t i = 0; i < map.size; ++i) {
    if (i > 0) out += ", ";
    if (out.size() > kMaxShown) return out + "...}";
    out += debug_text(map.entries[i].key) + ": " + debug_text(map.entries[i].value);
  }
  return out + "}";
}

}  // namespace

std::string bare_text(const Value& v) {
  switch (v.kind) {
    case Kind::kNull:
      return "null";
    case Kind::kBool:
      return v.b ? "true" : "false";
    case Kind::kInt:
      return std::to_string(v.i);
    case Kind::kUint:
      return std::to_string(v.u);
    case Kind::kDouble:
      return lib::format_double(v.d);
    case Kind::kString:
    case Kind::kBytes:
    case Kind::kType:
      return shown(v.str());
    case Kind::kDuration:
      return lib::format_duration(v.i);
    case Kind::kTimestamp:
      return lib::format_timestamp({v.i, v.length, v.offset_minutes});
    case Kind::kQuantity:
      return shown(v.quantity->to_string());
    case Kind::kSemver:
      return shown(v.semver->to_string());
    case Kind::kIp:
      return lib::to_string(*v.ip);
    case Kind::kCidr:
      return lib::to_string(*v.cidr);
    case Kind::kUrl:
      return shown(v.url->text);
    case Kind::kFormat:
      return std::string(v.format->name);
    case Kind::kList:
      return debug_list(*v.list);
    case Kind::kMap:
      return debug_map(*v.map);
    case Kind::kOptional:
      return v.optional == nullptr ? "optional.none()" : "optional(" + debug_text(*v.optional) + ")";
    case Kind::kError:
      return std::string(v.error->message);
  }
  return "";
}

std::string debug_text(const Value& v) {
  if (v.kind == Kind::kString) return "\"" + shown(v.str()) + "\"";
  if (v.kind == Kind::kBytes) return "b\"" + shown(v.str()) + "\"";
  return bare_text(v);
}

}  // namespace dra::cel
