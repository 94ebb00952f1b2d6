// Functions on lists: cel-go ext/{lists,sets}.go, Kubernetes' lists library and DRA's includes().
#include <algorithm>

#include "pkg/cel/check/overloads.h"
#include "pkg/cel/eval/function_support.h"
#include "pkg/cel/syntax/ast.h"

namespace dra::cel {
namespace {

constexpr uint32_t kMaxIncludesElements = 48;  // resource.k8s.io: values of a list attribute

bool has_order(Kind kind) {
  switch (kind) {
    case Kind::kBool:
    case Kind::kBytes:
    case Kind::kDouble:
    case Kind::kInt:
    case Kind::kUint:
    case Kind::kString:
    case Kind::kDuration:
    case Kind::kTimestamp:
      return true;
    default:
      return false;
  }
}

bool contains(const ListRep& list, const Value& v) {
  for (uint32_t i = 0; i < list.size; ++i) {
    if (equal(list.items[i], v) == Equality::kTrue) return true;
  }
  return false;
}

bool contains_all(const ListRep& list, const ListRep& wanted) {
  for (uint32_t i = 0; i < wanted.size; ++i) {
    if (!contains(list, wanted.items[i])) return false;
  }
  return true;
}

Value sets_contains(EvalContext&, const Value* a) {
  return Value::of_bool(contains_all(*a[0].list, *a[1].list));
}
Value sets_equivalent(EvalContext&, const Value* a) {
  return Value::of_bool(contains_all(*a[0].list, *a[1].list) && contains_all(*a[1].list, *a[0].list));
}
Value sets_intersects(EvalContext&, const Value* a) {
  for (uint32_t i = 0; i < a[0].list->size; ++i) {
    if (contains(*a[1].list, a[0].list->items[i])) return Value::of_bool(true);
  }
  return Value::of_bool(false);
}

Value slice(EvalContext& c, const Value* a) {
  int64_t start = a[1].i;
  int64_t end = a[2].i;
  int64_t size = a[0].list->size;
  std::string call = "cannot slice(" + std::to_string(start) + ", " + std::to_string(end) + "), ";
  if (start < 0 || end < 0) return c.fail_copy(RuntimeCategory::kListArg, call + "negative indexes not supported");
  if (start > end) {
    return c.fail_copy(RuntimeCategory::kListArg, call + "start index must be less than or equal to end index");
  }
  if (end > size) return c.fail_copy(RuntimeCategory::kListArg, call + "list is length " + std::to_string(size));
  return list_of(c, a[0].list->items + start, static_cast<size_t>(end - start));
}

// How many elements a list has when `depth` levels are flattened.
size_t flat_size(const ListRep& list, int64_t depth) {
  size_t n = 0;
  for (uint32_t i = 0; i < list.size; ++i) {
    bool nested = depth > 0 && list.items[i].kind == Kind::kList;
    n += nested ? flat_size(*list.items[i].list, depth - 1) : 1;
    if (n > kMaxListBytes / sizeof(Value)) return n;
  }
  return n;
}

void flatten_into(const ListRep& list, int64_t depth, Value*& out) {
  for (uint32_t i = 0; i < list.size; ++i) {
    if (depth > 0 && list.items[i].kind == Kind::kList) {
      flatten_into(*list.items[i].list, depth - 1, out);
    } else {
      *out++ = list.items[i];
    }
  }
}

Value flatten_levels(EvalContext& c, const Value& list, int64_t depth) {
  if (depth < 0) return c.fail(RuntimeCategory::kListArg, "level must be non-negative");
  size_t size = flat_size(*list.list, depth);
  Value* items = new_items(c, size);
  if (items == nullptr) return aborted(c);
  Value* end = items;
  flatten_into(*list.list, depth, end);
  return list_of(c, items, size);
}
Value flatten(EvalContext& c, const Value* a) {
  return flatten_levels(c, a[0], 1);
}
Value flatten_depth(EvalContext& c, const Value* a) {
  return flatten_levels(c, a[0], a[1].i);
}

Value range(EvalContext& c, const Value* a) {
  size_t size = a[0].i <= 0 ? 0 : static_cast<size_t>(a[0].i);
  Value* items = new_items(c, size);
  if (items == nullptr) return aborted(c);
  for (size_t i = 0; i < size; ++i) items[i] = Value::of_int(static_cast<int64_t>(i));
  return list_of(c, items, size);
}

Value reverse(EvalContext& c, const Value* a) {
  size_t size = a[0].list->size;
  Value* items = new_items(c, size);
  if (items == nullptr) return aborted(c);
  std::reverse_copy(a[0].list->items, a[0].list->items + size, items);
  return list_of(c, items, size);
}

Value distinct(EvalContext& c, const Value* a) {
  const ListRep& list = *a[0].list;
  Value* items = new_items(c, list.size);
  if (items == nullptr) return aborted(c);
  ListRep kept;
  kept.items = items;
  for (uint32_t i = 0; i < list.size; ++i) {
    if (!contains(kept, list.items[i])) items[kept.size++] = list.items[i];
  }
  return list_of(c, items, kept.size);
}

// The elements in the order of their keys; equal keys keep their order.
Value sort_by(EvalContext& c, const ListRep& list, const ListRep& keys) {
  if (keys.size != list.size) return c.fail(RuntimeCategory::kListArg, "list elements must have the same type");
  if (list.size == 0) return Value::of_list(&list);
  Kind kind = keys.items[0].kind;
  if (!has_order(kind)) return c.fail(RuntimeCategory::kListArg, "list elements must be comparable");
  for (uint32_t i = 0; i < keys.size; ++i) {
    if (keys.items[i].kind != kind) {
      return c.fail(RuntimeCategory::kListArg, "list elements must have the same type");
    }
  }
  std::vector<uint32_t> order(list.size);
  for (uint32_t i = 0; i < list.size; ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(),
                   [&](uint32_t x, uint32_t y) { return compare(keys.items[x], keys.items[y]) == Order::kLess; });
  Value* items = new_items(c, list.size);
  if (items == nullptr) return aborted(c);
  for (uint32_t i = 0; i < list.size; ++i) items[i] = list.items[order[i]];
  return list_of(c, items, list.size);
}
Value sort(EvalContext& c, const Value* a) {
  return sort_by(c, *a[0].list, *a[0].list);
}
Value sort_by_keys(EvalContext& c, const Value* a) {
  return sort_by(c, *a[0].list, *a[1].list);
}

// Elements that have no order among each other (a list of any) end every comparison.
Value no_order(EvalContext& c, Order order) {
  return order == Order::kNaN ? c.fail(RuntimeCategory::kNanOrder, "NaN values cannot be ordered") : c.no_overload();
}

Value is_sorted(EvalContext& c, const Value* a) {
  const ListRep& list = *a[0].list;
  for (uint32_t i = 1; i < list.size; ++i) {
    Order order = compare(list.items[i - 1], list.items[i]);
    if (order == Order::kNaN || order == Order::kNone) return no_order(c, order);
    if (order == Order::kGreater) return Value::of_bool(false);
  }
  return Value::of_bool(true);
}

template <Order kWanted>
Value extreme(EvalContext& c, const Value* a) {
  const ListRep& list = *a[0].list;
  if (list.size == 0) {
    return c.fail(RuntimeCategory::kEmptyList,
                  kWanted == Order::kLess ? "min called on empty list" : "max called on empty list");
  }
  Value best = list.items[0];
  for (uint32_t i = 1; i < list.size; ++i) {
    Order order = compare(list.items[i], best);
    if (order == Order::kNaN || order == Order::kNone) return no_order(c, order);
    if (order == kWanted) best = list.items[i];
  }
  return best;
}

template <Kind kKind>
Value sum(EvalContext& c, const Value* a) {
  const ListRep& list = *a[0].list;
  Value total = Value::of_int(0);
  total.kind = kKind;
  if (kKind == Kind::kDouble) total.d = 0;
  bool overflow = false;
  for (uint32_t i = 0; i < list.size; ++i) {
    const Value& v = list.items[i];
    if (v.kind != kKind) return c.no_overload();
    if constexpr (kKind == Kind::kDouble) {
      total.d += v.d;
    } else if constexpr (kKind == Kind::kUint) {
      overflow = __builtin_add_overflow(total.u, v.u, &total.u);
    } else {
      overflow = __builtin_add_overflow(total.i, v.i, &total.i);
    }
    if (overflow) {
      return c.fail(RuntimeCategory::kOverflow,
                    kKind == Kind::kUint ? "unsigned integer overflow" : "integer overflow");
    }
  }
  return total;
}

Value list_index_of(EvalContext&, const Value* a) {
  const ListRep& list = *a[0].list;
  for (uint32_t i = 0; i < list.size; ++i) {
    if (equal(list.items[i], a[1]) == Equality::kTrue) return Value::of_int(i);
  }
  return Value::of_int(-1);
}
Value list_last_index_of(EvalContext&, const Value* a) {
  const ListRep& list = *a[0].list;
  for (uint32_t i = list.size; i > 0; --i) {
    if (equal(list.items[i - 1], a[1]) == Equality::kTrue) return Value::of_int(i - 1);
  }
  return Value::of_int(-1);
}

template <bool kLimited>
Value includes(EvalContext& c, const Value* a) {
  if (a[0].kind != Kind::kList) return Value::of_bool(equal(a[0], a[1]) == Equality::kTrue);
  const ListRep& list = *a[0].list;
  for (uint32_t i = 0; i < list.size; ++i) {
    if (kLimited && i >= kMaxIncludesElements) {
      return c.fail(RuntimeCategory::kListArg, "'includes' function cannot be applied to lists longer than 48 values");
    }
    if (equal(list.items[i], a[1]) == Equality::kTrue) return Value::of_bool(true);
  }
  return Value::of_bool(false);
}

struct OrderedType {
  std::string_view type;     // as signatures spell it
  std::string_view sort_id;  // cel-go
  std::string_view by_id;
  std::string_view is_sorted_id;  // Kubernetes
  std::string_view min_id;
  std::string_view max_id;
};

constexpr OrderedType kOrdered[] = {
    {"int", "list_int_sort", "list_int_sortByAssociatedKeys", "list_int_is_sorted_bool", "list_int_min_int",
     "list_int_max_int"},
    {"uint", "list_uint_sort", "list_uint_sortByAssociatedKeys", "list_uint_is_sorted_bool", "list_uint_min_uint",
     "list_uint_max_uint"},
    {"double", "list_double_sort", "list_double_sortByAssociatedKeys", "list_double_is_sorted_bool",
     "list_double_min_double", "list_double_max_double"},
    {"bool", "list_bool_sort", "list_bool_sortByAssociatedKeys", "list_bool_is_sorted_bool", "list_bool_min_bool",
     "list_bool_max_bool"},
    {"duration", "list_google.protobuf.Duration_sort", "list_google.protobuf.Duration_sortByAssociatedKeys",
     "list_duration_is_sorted_bool", "list_duration_min_duration", "list_duration_max_duration"},
    {"timestamp", "list_google.protobuf.Timestamp_sort", "list_google.protobuf.Timestamp_sortByAssociatedKeys",
     "list_timestamp_is_sorted_bool", "list_timestamp_min_timestamp", "list_timestamp_max_timestamp"},
    {"string", "list_string_sort", "list_string_sortByAssociatedKeys", "list_string_is_sorted_bool",
     "list_string_min_string", "list_string_max_string"},
    {"bytes", "list_bytes_sort", "list_bytes_sortByAssociatedKeys", "list_bytes_is_sorted_bool", "list_bytes_min_bytes",
     "list_bytes_max_bytes"},
};

// Signatures made at run time need a place to stay.
std::string_view keep(std::string text) {
  static Arena arena;
  return arena.copy(text);
}

void add_ordered_specs(SpecList& out) {
  for (const OrderedType& t : kOrdered) {
    std::string list = "list(" + std::string(t.type) + ")";
    out.push_back({"sort", t.sort_id, keep(list + ".() " + list), sort, CostRule::kQuadratic});
    out.push_back(
        {op::kSortByKeys, t.by_id, keep("list(<T>).(" + list + ") list(<T>)"), sort_by_keys, CostRule::kQuadratic});
    out.push_back({"isSorted", t.is_sorted_id, keep(list + ".() bool"), is_sorted, CostRule::kTraverse});
    out.push_back(
        {"min", t.min_id, keep(list + ".() " + std::string(t.type)), extreme<Order::kLess>, CostRule::kTraverse});
    out.push_back(
        {"max", t.max_id, keep(list + ".() " + std::string(t.type)), extreme<Order::kGreater>, CostRule::kTraverse});
  }
}

}  // namespace

void add_list_specs(SpecList& out) {
  const OverloadSpec specs[] = {
      {"sets.contains", "list_sets_contains_list", "(list(<T>), list(<T>)) bool", sets_contains,
       CostRule::kSetsContains},
      {"sets.equivalent", "list_sets_equivalent_list", "(list(<T>), list(<T>)) bool", sets_equivalent,
       CostRule::kSetsEquivalent},
      {"sets.intersects", "list_sets_intersects_list", "(list(<T>), list(<T>)) bool", sets_intersects,
       CostRule::kSetsContains},
      {"slice", "list_slice", "list(<T>).(int, int) list(<T>)", slice, CostRule::kSlice},
      {"flatten", "list_flatten", "list(list(<T>)).() list(<T>)", flatten, CostRule::kFlatten},
      {"flatten", "list_flatten_int", "list(dyn).(int) list(dyn)", flatten_depth, CostRule::kFlatten, kOnly136},
      {"flatten", "list_flatten_int", "list(dyn).(int) list(dyn)", flatten_depth, CostRule::kFlattenSaturating,
       kOnly137},
      {"lists.range", "lists_range", "(int) list(int)", range, CostRule::kRange},
      {"distinct", "list_distinct", "list(<T>).() list(<T>)", distinct, CostRule::kQuadratic},
      {"reverse", "list_reverse", "list(<T>).() list(<T>)", reverse, CostRule::kReverse},
      {"sum", "list_int_sum_int", "list(int).() int", sum<Kind::kInt>, CostRule::kTraverse},
      {"sum", "list_uint_sum_uint", "list(uint).() uint", sum<Kind::kUint>, CostRule::kTraverse},
      {"sum", "list_double_sum_double", "list(double).() double", sum<Kind::kDouble>, CostRule::kTraverse},
      {"sum", "list_duration_sum_duration", "list(duration).() duration", sum<Kind::kDuration>, CostRule::kTraverse},
      {"indexOf", "list_a_index_of_int", "list(<A>).(<A>) int", list_index_of, CostRule::kTraverse},
      {"lastIndexOf", "list_a_last_index_of_int", "list(<A>).(<A>) int", list_last_index_of, CostRule::kTraverse},
      {"includes", "dra_includes_dyn_dyn", "dyn.(dyn) bool", includes<true>, CostRule::kOne, kOnly136},
      {"includes", "list_includes_dyn_dyn", "dyn.(dyn) bool", includes<false>, CostRule::kIncludes, kOnly137},
  };
  out.insert(out.end(), std::begin(specs), std::end(specs));
  add_ordered_specs(out);
}

}  // namespace dra::cel
