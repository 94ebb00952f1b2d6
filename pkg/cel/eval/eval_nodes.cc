#include "pkg/cel/eval/eval_nodes.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "pkg/api/quantity.h"
#include "pkg/cel/eval/function_support.h"
#include "pkg/cel/lib/time.h"
#include "pkg/cel/syntax/ast.h"

namespace dra::cel {

Value VariableNode::eval_branch(EvalContext& c) const {
  if (index_ < 0) return Value::of_map(c.device);
  const Value* v = c.variables == nullptr ? nullptr : c.variables[index_];
  if (v != nullptr) return *v;
  return c.fail_copy(RuntimeCategory::kUnboundVariable, "no such attribute(s): " + std::string(name_));
}

// ---- selection

SlotNode::SlotNode(bool capacity, std::string_view domain, std::string_view name, std::string_view missing, Mode mode)
    : capacity_(capacity), mode_(mode), hash_(member_hash(domain, name)), domain_(domain), name_(name) {
  missing_.category = RuntimeCategory::kNoSuchKey;
  missing_.message = missing;
  missing_.subject = name;
  missing_.domain = domain;
  missing_.attribute = !capacity;
  missing_.capacity = capacity;
}

Value SlotNode::eval_with(EvalContext& c, uint64_t lead) const {
  const MemberIndex& index = capacity_ ? c.facts->capacities : c.facts->attributes;
  const Value* v = index.find(hash_, domain_, name_);
  // An optional selection that finds nothing is free, but for the domain's.
  c.charge(lead + (mode_ == Mode::kOptional && v == nullptr ? 2 : 3));
  switch (mode_) {
    case Mode::kPlain:
      return v != nullptr ? *v : Value::of_error(&missing_);
    case Mode::kOptional:
      return Value::of_optional(v);
    default:
      return Value::of_bool(v != nullptr);
  }
}

namespace {

enum class Lookup { kFound, kAbsent, kFailed };

bool is_qualifier_key(Kind kind) {
  return kind == Kind::kString || kind == Kind::kInt || kind == Kind::kUint || kind == Kind::kBool ||
         kind == Kind::kDouble;
}

// The index that a key denotes. False: `out` is the error.
bool list_index(EvalContext& c, const Value& key, int64_t& index, Value& out) {
  switch (key.kind) {
    case Kind::kInt:
      index = key.i;
      return true;
    case Kind::kUint:
      index = key.u > INT64_MAX ? INT64_MAX : static_cast<int64_t>(key.u);
      return true;
    case Kind::kDouble:
      if (key.d == std::trunc(key.d) && key.d >= -9.2e18 && key.d <= 9.2e18) {
        index = static_cast<int64_t>(key.d);
        return true;
      }
      out = c.fail_copy(RuntimeCategory::kIndex, "unsupported index value " + bare_text(key) + " in list");
      return false;
    default:
      out =
          c.fail_copy(RuntimeCategory::kIndex, "unsupported index type '" + std::string(type_name(key)) + "' in list");
      return false;
  }
}

// Looking for a long text in a map compares it with a few others.
bool spend_lookup(EvalContext& c, const MapRep& map, const Value& key) {
  constexpr uint32_t kLongKey = 64;
  if (key.kind != Kind::kString || key.length <= kLongKey) return true;
  return c.spend(saturating_multiply(value_weight(key), 1 + static_cast<uint64_t>(std::bit_width(map.size))));
}

Lookup look_up(EvalContext& c, const Value& object, const Value& key, Value& out) {
  static constexpr MapRep kEmptyMap{nullptr, 0, false, true, true, 0};
  if (object.kind == Kind::kMap) {
    if (!spend_lookup(c, *object.map, key)) {
      out = aborted(c);
      return Lookup::kFailed;
    }
    if (const Value* found = find_key(*object.map, key)) {
      out = *found;
      return Lookup::kFound;
    }
    if (!object.map->default_empty_map) return Lookup::kAbsent;
    out = Value::of_map(&kEmptyMap);
    return Lookup::kFound;
  }
  if (object.kind == Kind::kList) {
    int64_t index = 0;
    if (!list_index(c, key, index, out)) return Lookup::kFailed;
    if (index < 0 || index >= static_cast<int64_t>(object.list->size)) return Lookup::kAbsent;
    out = object.list->items[index];
    return Lookup::kFound;
  }
  return Lookup::kAbsent;
}

Value missing_error(EvalContext& c, const Value& object, const Value& key, std::string_view message) {
  if (object.kind == Kind::kList) {
    return c.fail_copy(RuntimeCategory::kIndex, "index out of bounds: " + bare_text(key), bare_text(key));
  }
  if (!message.empty()) return c.fail(RuntimeCategory::kNoSuchKey, message, key.kind == Kind::kString ? key.str() : "");
  std::string text = bare_text(key);
  return c.fail_copy(RuntimeCategory::kNoSuchKey, "no such key: " + text, text);
}

}  // namespace

Value ChainNode::eval(EvalContext& c) const {
  if (head_ != Head::kConditional && !presence_) c.charge(1);
  return walk(c);
}

Value ChainNode::eval_branch(EvalContext& c) const {
  return walk(c);
}

Value ChainNode::walk(EvalContext& c) const {
  Value object = head_ == Head::kExpression ? operand_->eval(c) : operand_->eval_branch(c);
  if (object.is_error()) return object;
  bool optional = object.kind == Kind::kOptional;
  if (optional) {
    if (object.optional == nullptr) return presence_ ? Value::of_bool(false) : object;
    object = *object.optional;
  }
  for (size_t i = 0; i < qualifiers_.size(); ++i) {
    const Qualifier& q = qualifiers_[i];
    Value key = q.index == nullptr ? q.key : q.index->eval_branch(c);
    bool testing = presence_ && i + 1 == qualifiers_.size();
    optional = optional || q.optional;
    Value next;
    Lookup found = Lookup::kFailed;
    if (key.is_error()) {
      next = key;
    } else if (q.index != nullptr && !is_qualifier_key(key.kind)) {
      next =
          c.fail_copy(RuntimeCategory::kInvalidQualifier, "invalid qualifier type: " + std::string(go_type_name(key)));
    } else {
      found = look_up(c, object, key, next);
    }
    if (testing && found != Lookup::kFailed) {
      c.charge(1);
      return Value::of_bool(found == Lookup::kFound);
    }
    if (optional && found == Lookup::kAbsent) {
      return presence_ ? Value::of_bool(false) : Value::of_optional(nullptr);
    }
    c.charge(1);
    if (found == Lookup::kAbsent) return missing_error(c, object, key, q.missing);
    if (found == Lookup::kFailed) return next;
    object = next;
  }
  return optional ? some(c, object) : object;
}

// ---- logic

Value LogicalNode::eval(EvalContext& c) const {
  Value first_error;
  bool failed = false;
  for (const Node* term : terms_) {
    Value v = term->eval(c);
    if (v.kind == Kind::kBool) {
      if (v.b != is_and_) return v;
    } else if (!failed) {
      failed = true;
      first_error = v.is_error() ? v : c.no_overload();
    }
    if (c.aborted != nullptr) return aborted(c);
  }
  return failed ? first_error : Value::of_bool(is_and_);
}

Value NotNode::eval(EvalContext& c) const {
  Value v = operand_->eval(c);
  c.charge(1);
  if (v.kind == Kind::kBool) return Value::of_bool(!v.b);
  return v.is_error() ? v : c.no_overload();
}

Value NotStrictlyFalseNode::eval(EvalContext& c) const {
  Value v = operand_->eval(c);
  c.charge(1);
  return Value::of_bool(v.kind != Kind::kBool || v.b);
}

Value ConditionalNode::eval(EvalContext& c) const {
  Value v = condition_->eval(c);
  if (v.kind == Kind::kBool) return v.b ? yes_->eval_branch(c) : no_->eval_branch(c);
  return v.is_error() ? v : c.no_overload();
}

// ---- comparison

namespace {

// What there is to compare. Aligning two quantities takes as long as the longer one has digits.
uint64_t pair_weight(const Value& a, const Value& b) {
  const uint64_t x = value_weight(a);
  const uint64_t y = value_weight(b);
  return a.kind == Kind::kQuantity ? saturating_add(x, y) : std::min(x, y);
}

}  // namespace

Value EqualNode::eval(EvalContext& c) const {
  Value a = a_->eval(c);
  Value b = b_->eval(c);
  bool named = !negated_ && a.kind >= Kind::kQuantity && a.kind <= Kind::kFormat;
  c.charge(named ? 1 : tenth_cost(std::min(c.size_of(a), c.size_of(b))));
  if (a.is_error()) return a;
  if (b.is_error()) return b;
  if (!c.spend(pair_weight(a, b))) return aborted(c);
  Equality e = equal(a, b);
  if (negated_) return Value::of_bool(e != Equality::kTrue);
  return e == Equality::kError ? c.no_overload() : Value::of_bool(e == Equality::kTrue);
}

namespace {

// Whether values of this kind are ordered at all.
bool is_ordered(Kind kind) {
  switch (kind) {
    case Kind::kBool:
    case Kind::kInt:
    case Kind::kUint:
    case Kind::kDouble:
    case Kind::kString:
    case Kind::kBytes:
    case Kind::kDuration:
    case Kind::kTimestamp:
      return true;
    default:
      return false;
  }
}

}  // namespace

Value CompareNode::eval(EvalContext& c) const {
  Value a = a_->eval(c);
  Value b = b_->eval(c);
  Order order = Order::kNone;
  if (a.kind == Kind::kInt && b.kind == Kind::kInt) {  // by far the most common; their size is 1
    c.charge(1);
    order = a.i < b.i ? Order::kLess : a.i > b.i ? Order::kGreater : Order::kEqual;
  } else {
    c.charge(by_size_ ? tenth_cost(std::min(c.size_of(a), c.size_of(b))) : 1);
    if (a.is_error()) return a;
    if (b.is_error()) return b;
    if (!c.spend(pair_weight(a, b))) return aborted(c);
    order = compare(a, b);
  }
  if (order == Order::kNone && quantities_ && a.kind == Kind::kQuantity && b.kind == Kind::kQuantity) {
    int sign = a.quantity->compare(*b.quantity);
    order = sign < 0 ? Order::kLess : sign > 0 ? Order::kGreater : Order::kEqual;
  }
  if (order == Order::kNaN) return c.fail(RuntimeCategory::kNanOrder, "NaN values cannot be ordered");
  if (order == Order::kNone) return is_ordered(a.kind) ? c.no_overload() : c.no_operation(function_, a);
  switch (relation_) {
    case Relation::kLess:
      return Value::of_bool(order == Order::kLess);
    case Relation::kLessEqual:
      return Value::of_bool(order != Order::kGreater);
    case Relation::kGreater:
      return Value::of_bool(order == Order::kGreater);
    default:
      return Value::of_bool(order != Order::kLess);
  }
}

Value InNode::eval(EvalContext& c) const {
  Value element = element_->eval(c);
  Value container = container_->eval(c);
  c.charge(by_size_ ? c.size_of(container) : 1);
  if (element.is_error()) return element;
  if (container.is_error()) return container;
  if (container.kind == Kind::kList) {
    if (!c.spend(value_weight(container))) return aborted(c);
    for (uint32_t i = 0; i < container.list->size; ++i) {
      if (equal(container.list->items[i], element) == Equality::kTrue) return Value::of_bool(true);
    }
    return Value::of_bool(false);
  }
  if (container.kind != Kind::kMap) return c.no_overload();
  if (!valid_key(element) && !container.map->device) {
    return c.abort(RuntimeCategory::kInternal, c.arena.copy("internal error: runtime error: hash of unhashable type " +
                                                            std::string(go_type_name(element))));
  }
  if (!spend_lookup(c, *container.map, element)) return aborted(c);
  return Value::of_bool(find_key(*container.map, element) != nullptr);
}

Value InSetNode::eval(EvalContext& c) const {
  Value v = element_->eval(c);
  if (v.is_error()) return v;
  if (!valid_key(v)) {
    return c.abort(RuntimeCategory::kInternal, c.arena.copy("internal error: runtime error: hash of unhashable type " +
                                                            std::string(go_type_name(v))));
  }
  if (!spend_lookup(c, *set_, v)) return aborted(c);
  // The set holds every number in each kind it converts to, so only the same kind counts.
  const MapEntry* begin = set_->entries;
  const MapEntry* end = begin + set_->size;
  const MapEntry* at =
      std::lower_bound(begin, end, v, [](const MapEntry& e, const Value& x) { return compare_keys(e.key, x) < 0; });
  return Value::of_bool(at != end && compare_keys(at->key, v) == 0);
}

// ---- literals

Value MessageNode::eval(EvalContext& c) const {
  for (const Node* value : values_)
    if (Value v = value->eval(c); v.is_error()) return v;
  c.charge(kMessageCost);
  return c.fail(RuntimeCategory::kUnknownType, "unknown type '" + std::string(type_) + "'");
}

Value ListNode::eval(EvalContext& c) const {
  Value* items = new_items(c, elements_.size());
  if (items == nullptr) return aborted(c);
  size_t used = 0;
  for (size_t i = 0; i < elements_.size(); ++i) {
    Value v = elements_[i]->eval(c);
    if (v.is_error()) {
      c.charge(10);
      return v;
    }
    if (!optional_.empty() && optional_[i]) {
      if (v.kind != Kind::kOptional) {
        return c.fail(RuntimeCategory::kNoSuchOverload,
                      "cannot initialize optional list element from non-optional value");
      }
      if (v.optional == nullptr) continue;
      v = *v.optional;
    }
    items[used++] = v;
  }
  c.charge(10);
  return list_of(c, items, used);
}

Value MapNode::entry(EvalContext& c, size_t i, MapEntry* entries, size_t& used) const {
  Value key = parts_[2 * i]->eval(c);
  if (key.is_error()) return key;
  Value v = parts_[2 * i + 1]->eval(c);
  if (v.is_error()) return v;
  if (!optional_.empty() && optional_[i]) {
    if (v.kind != Kind::kOptional) {
      return c.fail(RuntimeCategory::kNoSuchOverload, "cannot initialize optional entry from non-optional value");
    }
    if (v.optional == nullptr) return Value::null();
    v = *v.optional;
  }
  if (!valid_key(key)) {
    return c.abort(RuntimeCategory::kInternal, c.arena.copy("internal error: runtime error: hash of unhashable type " +
                                                            std::string(go_type_name(key))));
  }
  entries[used++] = {key, v};
  return Value::null();
}

Value MapNode::eval(EvalContext& c) const {
  size_t count = parts_.size() / 2;
  if (!c.reserve(count * sizeof(MapEntry))) return aborted(c);
  auto* entries = c.arena.array<MapEntry>(count);
  size_t used = 0;
  for (size_t i = 0; i < count; ++i) {
    Value v = entry(c, i, entries, used);
    if (v.is_error()) {
      if (c.aborted == nullptr) c.charge(30);
      return v;
    }
  }
  c.charge(30);
  return map_of(c, entries, used);
}

Value OrElseNode::eval(EvalContext& c) const {
  Value v = a_->eval(c);
  if (v.kind != Kind::kOptional) return v;
  if (v.optional != nullptr) return unwrap_ ? *v.optional : v;
  return b_->eval(c);
}

// ---- arithmetic

namespace {

Value overflow(EvalContext& c, bool is_unsigned = false) {
  return c.fail(RuntimeCategory::kOverflow, is_unsigned ? "unsigned integer overflow" : "integer overflow");
}

Value int_arithmetic(EvalContext& c, Arithmetic operation, int64_t a, int64_t b) {
  int64_t r = 0;
  switch (operation) {
    case Arithmetic::kAdd:
      return __builtin_add_overflow(a, b, &r) ? overflow(c) : Value::of_int(r);
    case Arithmetic::kSubtract:
      return __builtin_sub_overflow(a, b, &r) ? overflow(c) : Value::of_int(r);
    case Arithmetic::kMultiply:
      return __builtin_mul_overflow(a, b, &r) ? overflow(c) : Value::of_int(r);
    default:
      break;
  }
  bool divide = operation == Arithmetic::kDivide;
  if (b == 0) return c.fail(RuntimeCategory::kDivByZero, divide ? "division by zero" : "modulus by zero");
  if (a == INT64_MIN && b == -1) return overflow(c);
  return Value::of_int(divide ? a / b : a % b);
}

Value uint_arithmetic(EvalContext& c, Arithmetic operation, uint64_t a, uint64_t b) {
  uint64_t r = 0;
  switch (operation) {
    case Arithmetic::kAdd:
      return __builtin_add_overflow(a, b, &r) ? overflow(c, true) : Value::of_uint(r);
    case Arithmetic::kSubtract:
      return __builtin_sub_overflow(a, b, &r) ? overflow(c, true) : Value::of_uint(r);
    case Arithmetic::kMultiply:
      return __builtin_mul_overflow(a, b, &r) ? overflow(c, true) : Value::of_uint(r);
    default:
      break;
  }
  bool divide = operation == Arithmetic::kDivide;
  if (b == 0) return c.fail(RuntimeCategory::kDivByZero, divide ? "division by zero" : "modulus by zero");
  return Value::of_uint(divide ? a / b : a % b);
}

Value double_arithmetic(EvalContext& c, Arithmetic operation, double a, double b) {
  switch (operation) {
    case Arithmetic::kAdd:
      return Value::of_double(a + b);
    case Arithmetic::kSubtract:
      return Value::of_double(a - b);
    case Arithmetic::kMultiply:
      return Value::of_double(a * b);
    case Arithmetic::kDivide:
      return Value::of_double(a / b);
    default:
      return c.no_overload();
  }
}

Value concat_text(EvalContext& c, const Value& a, const Value& b) {
  size_t size = static_cast<size_t>(a.length) + b.length;
  if (!c.reserve_text(size)) return aborted(c);
  char* text = static_cast<char*>(c.arena.allocate(size == 0 ? 1 : size, 1));
  std::copy_n(a.text, a.length, text);
  std::copy_n(b.text, b.length, text + a.length);
  std::string_view joined(text, size);
  return a.kind == Kind::kString ? Value::of_string(joined) : Value::of_bytes(joined);
}

Value concat_lists(EvalContext& c, const Value& a, const Value& b) {
  size_t size = static_cast<size_t>(a.list->size) + b.list->size;
  Value* items = new_items(c, size);
  if (items == nullptr) return aborted(c);
  std::copy_n(a.list->items, a.list->size, items);
  std::copy_n(b.list->items, b.list->size, items + a.list->size);
  return list_of(c, items, size);
}

constexpr int64_t kNanosPerSecond = 1'000'000'000;

// timestamp + duration; both parts are far from overflowing.
Value shift(EvalContext& c, const Value& t, int64_t nanos, bool subtract) {
  int64_t seconds = nanos / kNanosPerSecond;
  int64_t rest = nanos % kNanosPerSecond;
  if (subtract) {
    seconds = -seconds;
    rest = -rest;
  }
  int64_t total = static_cast<int64_t>(t.length) + rest;
  seconds += t.i;
  if (total < 0) {
    total += kNanosPerSecond;
    --seconds;
  } else if (total >= kNanosPerSecond) {
    total -= kNanosPerSecond;
    ++seconds;
  }
  if (seconds < lib::kMinTimestampSeconds || seconds > lib::kMaxTimestampSeconds) {
    return c.fail(RuntimeCategory::kOverflow, "timestamp overflow");
  }
  return Value::of_timestamp(seconds, static_cast<uint32_t>(total), t.offset_minutes);
}

Value difference(EvalContext& c, const Value& a, const Value& b) {
  int64_t nanos = 0;
  int64_t fraction = static_cast<int64_t>(a.length) - static_cast<int64_t>(b.length);
  if (__builtin_mul_overflow(a.i - b.i, kNanosPerSecond, &nanos) || __builtin_add_overflow(nanos, fraction, &nanos)) {
    return overflow(c);
  }
  return Value::of_duration(nanos);
}

Value time_arithmetic(EvalContext& c, Arithmetic operation, const Value& a, const Value& b) {
  bool add = operation == Arithmetic::kAdd;
  if (!add && operation != Arithmetic::kSubtract) return c.no_overload();
  if (a.kind == Kind::kDuration && b.kind == Kind::kDuration) {
    int64_t r = 0;
    bool wrapped = add ? __builtin_add_overflow(a.i, b.i, &r) : __builtin_sub_overflow(a.i, b.i, &r);
    return wrapped ? overflow(c) : Value::of_duration(r);
  }
  if (a.kind == Kind::kTimestamp && b.kind == Kind::kDuration) return shift(c, a, b.i, !add);
  if (add && a.kind == Kind::kDuration && b.kind == Kind::kTimestamp) return shift(c, b, a.i, false);
  if (!add && a.kind == Kind::kTimestamp && b.kind == Kind::kTimestamp) return difference(c, a, b);
  return c.no_overload();
}

}  // namespace

namespace {

std::string_view operator_name(Arithmetic operation) {
  switch (operation) {
    case Arithmetic::kAdd:
      return op::kAdd;
    case Arithmetic::kSubtract:
      return op::kSubtract;
    case Arithmetic::kMultiply:
      return op::kMultiply;
    case Arithmetic::kDivide:
      return op::kDivide;
    case Arithmetic::kModulo:
      return op::kModulo;
  }
  return {};
}

// Whether values of this kind are added to, subtracted from ... anything (cel-go's traits).
bool has_operation(Kind kind, Arithmetic operation) {
  switch (kind) {
    case Kind::kInt:
    case Kind::kUint:
      return true;
    case Kind::kDouble:
      return operation != Arithmetic::kModulo;
    case Kind::kDuration:
    case Kind::kTimestamp:
      return operation == Arithmetic::kAdd || operation == Arithmetic::kSubtract;
    case Kind::kString:
    case Kind::kBytes:
    case Kind::kList:
      return operation == Arithmetic::kAdd;
    default:
      return false;
  }
}

}  // namespace

Value ArithmeticNode::eval(EvalContext& c) const {
  Value a = a_->eval(c);
  Value b = b_->eval(c);
  c.charge(by_size_ ? scaled_cost(saturating_add(c.size_of(a), c.size_of(b)), 0.1) : 1);
  if (a.is_error()) return a;
  if (b.is_error()) return b;
  if (!has_operation(a.kind, operation_)) return c.no_operation(operator_name(operation_), a);
  if (a.kind == Kind::kDuration || a.kind == Kind::kTimestamp) return time_arithmetic(c, operation_, a, b);
  if (a.kind != b.kind) return c.no_overload();
  switch (a.kind) {
    case Kind::kInt:
      return int_arithmetic(c, operation_, a.i, b.i);
    case Kind::kUint:
      return uint_arithmetic(c, operation_, a.u, b.u);
    case Kind::kDouble:
      return double_arithmetic(c, operation_, a.d, b.d);
    case Kind::kString:
    case Kind::kBytes:
      return operation_ == Arithmetic::kAdd ? concat_text(c, a, b) : c.no_overload();
    case Kind::kList:
      return operation_ == Arithmetic::kAdd ? concat_lists(c, a, b) : c.no_overload();
    default:
      return c.no_overload();
  }
}

Value NegateNode::eval(EvalContext& c) const {
  Value v = operand_->eval(c);
  c.charge(1);
  if (v.kind == Kind::kInt) return v.i == INT64_MIN ? overflow(c) : Value::of_int(-v.i);
  if (v.kind == Kind::kDouble) return Value::of_double(-v.d);
  return v.is_error() ? v : c.no_overload();
}

}  // namespace dra::cel
