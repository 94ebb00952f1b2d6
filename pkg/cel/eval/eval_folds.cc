// Comprehensions (cel-spec "Macros", cel-go interpreter/interpretable.go evalFold).
#include <algorithm>
#include <cmath>
#include <functional>

#include "pkg/cel/eval/eval_nodes.h"
#include "pkg/cel/eval/function_support.h"
#include "pkg/cel/syntax/ast.h"

namespace dra::cel {
namespace {

// Marks of accumulators that are grown in place, in Value::flag.
constexpr uint8_t kGrowing = 2;

struct GrowingList : ListRep {
  Value* storage = nullptr;
};

// An unordered map with a hash index, sorted when the loop is over.
struct GrowingMap : MapRep {
  MapEntry* storage = nullptr;
  uint32_t capacity = 0;
  uint32_t* index = nullptr;  // entry number + 1, or 0
  uint32_t index_size = 0;
};

size_t key_hash(const Value& key) {
  switch (key.kind) {
    case Kind::kBool:
      return key.b ? 3 : 5;
    case Kind::kInt:
      return std::hash<double>{}(static_cast<double>(key.i));
    case Kind::kUint:
      return std::hash<double>{}(static_cast<double>(key.u));
    case Kind::kDouble:
      return std::hash<double>{}(key.d);
    case Kind::kString:
    case Kind::kType:
      return std::hash<std::string_view>{}(key.str());
    case Kind::kNull:
      return 7;
    default: {  // as compare_other_keys: by their word, and timestamps by their nanoseconds too
      const uint64_t word = key.u ^ (key.kind == Kind::kTimestamp ? uint64_t{key.length} << 34 : 0);
      return static_cast<size_t>((word * 0x9E3779B97F4A7C15ULL) >> 32);
    }
  }
}

// Whether a map with key `a` finds it as `b`.
bool same_key(const Value& a, const Value& b) {
  MapEntry entry{a, Value::null()};
  MapRep one;
  one.entries = &entry;
  one.size = 1;
  return find_key(one, b) != nullptr;
}

GrowingMap* growing_map(EvalContext& c, Value& accumulator) {
  if (accumulator.flag == kGrowing) return static_cast<GrowingMap*>(const_cast<MapRep*>(accumulator.map));
  auto* map = c.arena.make<GrowingMap>();
  accumulator = Value::of_map(map);
  accumulator.flag = kGrowing;
  return map;
}

void reindex(EvalContext& c, GrowingMap& map) {
  map.index_size = map.capacity * 2;
  map.index = c.arena.array<uint32_t>(map.index_size);
  for (uint32_t i = 0; i < map.size; ++i) {
    size_t at = key_hash(map.storage[i].key) & (map.index_size - 1);
    while (map.index[at] != 0) at = (at + 1) & (map.index_size - 1);
    map.index[at] = i + 1;
  }
}

bool grow(EvalContext& c, GrowingMap& map) {
  uint32_t capacity = map.capacity == 0 ? 8 : map.capacity * 2;
  if (!c.reserve(capacity * sizeof(MapEntry))) return false;
  auto* storage = c.arena.array<MapEntry>(capacity);
  std::copy_n(map.storage, map.size, storage);
  map.storage = storage;
  map.entries = storage;
  map.capacity = capacity;
  reindex(c, map);
  return true;
}

}  // namespace

Value settled_map(EvalContext& c, const Value& accumulator) {
  if (accumulator.kind != Kind::kMap || accumulator.flag != kGrowing) return accumulator;
  auto* map = static_cast<GrowingMap*>(const_cast<MapRep*>(accumulator.map));
  return map_of(c, map->storage, map->size);
}

Value FoldNode::not_iterable(EvalContext& c, const Value& range) const {
  std::string type(go_type_name(range));
  return c.fail_copy(RuntimeCategory::kNotIterable, p_.two_variables ? "unsupported comprehension range type: " + type
                                                                     : "got '" + type + "', expected iterable type");
}

// One pass of the loop with its variables set. False: the loop ends.
bool FoldNode::step(EvalContext& c) const {
  Value go_on = p_.condition->eval(c);
  if (go_on.kind == Kind::kBool && !go_on.b) return false;
  Value next = p_.step->eval(c);
  c.locals[p_.accumulator] = next;
  return c.tick();
}

Value FoldNode::eval(EvalContext& c) const {
  Value range = p_.range->eval(c);
  if (range.is_error()) return range;
  if (range.kind != Kind::kList && range.kind != Kind::kMap) return not_iterable(c, range);
  c.locals[p_.accumulator].kind = kLazyKind;
  c.lazy[p_.accumulator] = p_.init;
  bool is_list = range.kind == Kind::kList;
  uint32_t size = is_list ? range.list->size : range.map->size;
  for (uint32_t i = 0; i < size; ++i) {
    const Value& key = is_list ? range.list->items[i] : range.map->entries[i].key;
    if (p_.two_variables) {
      c.locals[p_.first] = is_list ? Value::of_int(i) : key;
      c.locals[p_.second] = is_list ? key : range.map->entries[i].value;
    } else {
      c.locals[p_.first] = key;
    }
    if (!step(c)) break;
  }
  if (c.aborted != nullptr) return aborted(c);
  Value& accumulator = c.locals[p_.accumulator];
  if (accumulator.kind == Kind::kMap) accumulator = settled_map(c, accumulator);
  if (accumulator.kind == Kind::kList) accumulator.flag = 0;
  return p_.result->eval(c);
}

Value AppendNode::eval(EvalContext& c) const {
  Value accumulator = accumulator_->eval(c);
  Value element = element_->eval(c);
  c.charge(list_cost_ + 1);
  if (accumulator.is_error()) return accumulator;
  if (element.is_error()) return element;
  if (accumulator.kind != Kind::kList) return c.no_overload();
  auto* list = static_cast<GrowingList*>(const_cast<ListRep*>(accumulator.list));
  if (accumulator.flag != kGrowing || list->size == list->capacity) {
    uint32_t capacity = std::max<uint32_t>(8, list->size * 2);
    Value* storage = new_items(c, capacity);
    if (storage == nullptr) return aborted(c);
    auto* larger = c.arena.make<GrowingList>();
    std::copy_n(list->items, list->size, storage);
    larger->storage = storage;
    larger->items = storage;
    larger->size = list->size;
    larger->capacity = capacity;
    larger->weight = list->weight;
    list = larger;
  }
  list->storage[list->size++] = element;
  list->weight = static_cast<uint32_t>(std::min<uint64_t>(1 + value_weight(element) + list->weight, UINT32_MAX));
  if (list->weight > kMaxWork) {
    return c.abort(RuntimeCategory::kSizeLimit,
                   "operation cancelled: a list grows beyond the size this evaluator allows");
  }
  Value result = Value::of_list(list);
  result.flag = kGrowing;
  return result;
}

Value InsertNode::insert(EvalContext& c, Value& accumulator, const Value& key, const Value& value) const {
  if (!valid_key(key)) {
    return c.abort(RuntimeCategory::kInternal, c.arena.copy("internal error: runtime error: hash of unhashable type " +
                                                            std::string(go_type_name(key))));
  }
  GrowingMap& map = *growing_map(c, accumulator);
  if (!c.spend(1 + value_weight(key))) return aborted(c);
  if (map.size == map.capacity && !grow(c, map)) return aborted(c);
  size_t at = key_hash(key) & (map.index_size - 1);
  for (; map.index[at] != 0; at = (at + 1) & (map.index_size - 1)) {
    // Keys that share a hash (NaN never equals itself) are met again and again.
    if (!c.spend(4 + value_weight(key))) return aborted(c);
    if (same_key(map.storage[map.index[at] - 1].key, key)) {
      return c.fail_copy(RuntimeCategory::kDuplicateKey, "insert failed: key " + bare_text(key) + " already exists");
    }
  }
  map.storage[map.size++] = {key, value};
  map.index[at] = map.size;
  return accumulator;
}

Value InsertNode::eval(EvalContext& c) const {
  Value accumulator = accumulator_->eval(c);
  if (value_ != nullptr) {
    // Three arguments: the first error ends the call, uncharged unless it is the last.
    if (accumulator.is_error()) return accumulator;
    Value key = key_->eval(c);
    if (key.is_error()) return key;
    Value value = value_->eval(c);
    c.charge(1);
    if (value.is_error()) return value;
    if (accumulator.kind != Kind::kMap) return c.no_overload();
    return insert(c, accumulator, key, value);
  }
  Value entries = key_->eval(c);
  c.charge(1);
  if (accumulator.is_error()) return accumulator;
  if (entries.is_error()) return entries;
  if (accumulator.kind != Kind::kMap || entries.kind != Kind::kMap) return c.no_overload();
  for (uint32_t i = 0; i < entries.map->size; ++i) {
    Value r = insert(c, accumulator, entries.map->entries[i].key, entries.map->entries[i].value);
    if (r.is_error()) return r;
  }
  return accumulator;
}

}  // namespace dra::cel
