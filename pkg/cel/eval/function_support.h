// What the implementations of functions share. Internal to pkg/cel.
#pragma once

#include <bit>
#include <string>
#include <utility>

#include "pkg/cel/eval/eval_context.h"
#include "pkg/cel/lib/outcome.h"

namespace dra::cel {

inline Value failed(EvalContext& c, const lib::Failure& failure) {
  if (failure.category == RuntimeCategory::kSizeLimit) return c.abort(failure.category, c.arena.copy(failure.message));
  return c.fail_copy(failure.category, failure.message);
}

inline Value conversion_error(EvalContext& c, const Value& from, std::string_view to) {
  return c.fail_copy(RuntimeCategory::kConversion,
                     "type conversion error from '" + std::string(type_name(from)) + "' to '" + std::string(to) + "'");
}

inline Value aborted(EvalContext& c) {
  return Value::of_error(c.aborted);
}

// A list of `size` values that the caller fills, or null when that would be too large (the evaluation is then aborted).
inline Value* new_items(EvalContext& c, size_t size) {
  return c.reserve(size * sizeof(Value)) ? c.arena.array<Value>(size) : nullptr;
}

inline Value list_of(EvalContext& c, const Value* items, size_t size) {
  auto* list = c.arena.make<ListRep>();
  list->items = items;
  list->size = static_cast<uint32_t>(size);
  list->weight = list_weight(items, size);
  if (list->weight > kMaxWork) {
    return c.abort(RuntimeCategory::kSizeLimit,
                   "operation cancelled: a list grows beyond the size this evaluator allows");
  }
  return Value::of_list(list);
}

// A map of these entries, which are sorted in place.
inline Value map_of(EvalContext& c, MapEntry* entries, size_t size) {
  uint64_t keys = size;
  for (size_t i = 0; i < size; ++i) keys = saturating_add(keys, value_weight(entries[i].key));
  // Sorting compares every key with a few others.
  if (!c.spend(saturating_multiply(keys, static_cast<uint64_t>(std::bit_width(size))))) return aborted(c);
  const MapRep* map = make_map(c.arena, entries, size);
  return c.spend(map->weight) ? Value::of_map(map) : aborted(c);
}

inline Value some(EvalContext& c, const Value& v) {
  return Value::of_optional(c.arena.make<Value>(v));
}

}  // namespace dra::cel
