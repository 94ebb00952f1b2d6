// Optional values: cel-go cel/library.go. or() and orValue() are evaluated lazily by their own nodes.
#include <cmath>

#include "pkg/cel/check/overloads.h"
#include "pkg/cel/eval/function_support.h"

namespace dra::cel {
namespace {

constexpr int64_t kZeroTime = -62'135'596'800;  // Go's zero time.Time, 0001-01-01T00:00:00Z

bool is_zero(const Value& v) {
  switch (v.kind) {
    case Kind::kNull:
      return true;
    case Kind::kBool:
      return !v.b;
    case Kind::kInt:
    case Kind::kDuration:
      return v.i == 0;
    case Kind::kUint:
      return v.u == 0;
    case Kind::kDouble:
      return v.d == 0;
    case Kind::kString:
    case Kind::kBytes:
      return v.length == 0;
    case Kind::kList:
      return v.list->size == 0;
    case Kind::kMap:
      return v.map->size == 0;
    case Kind::kTimestamp:
      return v.i == kZeroTime && v.length == 0;
    case Kind::kOptional:
      return v.optional == nullptr;
    default:
      return false;
  }
}

Value optional_of(EvalContext& c, const Value* a) {
  return some(c, a[0]);
}
Value optional_of_non_zero(EvalContext& c, const Value* a) {
  return is_zero(a[0]) ? Value::of_optional(nullptr) : some(c, a[0]);
}
Value optional_none(EvalContext&, const Value*) {
  return Value::of_optional(nullptr);
}
Value has_value(EvalContext&, const Value* a) {
  return Value::of_bool(a[0].optional != nullptr);
}
Value value(EvalContext& c, const Value* a) {
  return a[0].optional != nullptr ? *a[0].optional
                                  : c.fail(RuntimeCategory::kOptionalNone, "optional.none() dereference");
}

Value unwrap(EvalContext& c, const Value* a) {
  const ListRep& list = *a[0].list;
  Value* items = new_items(c, list.size);
  if (items == nullptr) return aborted(c);
  size_t n = 0;
  for (uint32_t i = 0; i < list.size; ++i) {
    if (list.items[i].kind != Kind::kOptional) {
      return c.fail_copy(RuntimeCategory::kNoSuchOverload, "value " + debug_text(list.items[i]) + " is not optional");
    }
    if (list.items[i].optional != nullptr) items[n++] = *list.items[i].optional;
  }
  return list_of(c, items, n);
}

Value first(EvalContext&, const Value* a) {
  return Value::of_optional(a[0].list->size == 0 ? nullptr : &a[0].list->items[0]);
}
Value last(EvalContext&, const Value* a) {
  return Value::of_optional(a[0].list->size == 0 ? nullptr : &a[0].list->items[a[0].list->size - 1]);
}

}  // namespace

void add_optional_specs(SpecList& out) {
  const OverloadSpec specs[] = {
      {"optional.of", "optional_of", "(<V>) optional(<V>)", optional_of},
      {"optional.ofNonZeroValue", "optional_ofNonZeroValue", "(<V>) optional(<V>)", optional_of_non_zero},
      {"optional.none", "optional_none", "() optional(<V>)", optional_none},
      {"optional.unwrap", "optional_unwrap", "(list(optional(<V>))) list(<V>)", unwrap},
      {"unwrapOpt", "optional_unwrapOpt", "list(optional(<V>)).() list(<V>)", unwrap},
      {"hasValue", "optional_hasValue", "optional(<V>).() bool", has_value},
      {"value", "optional_value", "optional(<V>).() <V>", value},
      {"or", "optional_or_optional", "optional(<V>).(optional(<V>)) optional(<V>)", nullptr},
      {"orValue", "optional_orValue_value", "optional(<V>).(<V>) <V>", nullptr},
      {"first", "list_first", "list(<V>).() optional(<V>)", first},
      {"last", "list_last", "list(<V>).() optional(<V>)", last},
  };
  out.insert(out.end(), std::begin(specs), std::end(specs));
}

}  // namespace dra::cel
