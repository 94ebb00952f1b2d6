// Operators, as the checker sees them. Their evaluation is in eval_nodes.cc.
#include "pkg/cel/check/overloads.h"
#include "pkg/cel/syntax/ast.h"

namespace dra::cel {
namespace {

// "less" -> less_bool, less_int64 ..., with the six pairs of different numbers.
struct OrderingIds {
  std::string_view function;
  std::string_view ids[14];
};

constexpr OrderingIds kOrderings[] = {
    {op::kLess,
     {"less_bool", "less_int64", "less_int64_double", "less_int64_uint64", "less_uint64", "less_uint64_double",
      "less_uint64_int64", "less_double", "less_double_int64", "less_double_uint64", "less_string", "less_bytes",
      "less_timestamp", "less_duration"}},
    {op::kLessEquals,
     {"less_equals_bool", "less_equals_int64", "less_equals_int64_double", "less_equals_int64_uint64",
      "less_equals_uint64", "less_equals_uint64_double", "less_equals_uint64_int64", "less_equals_double",
      "less_equals_double_int64", "less_equals_double_uint64", "less_equals_string", "less_equals_bytes",
      "less_equals_timestamp", "less_equals_duration"}},
    {op::kGreater,
     {"greater_bool", "greater_int64", "greater_int64_double", "greater_int64_uint64", "greater_uint64",
      "greater_uint64_double", "greater_uint64_int64", "greater_double", "greater_double_int64",
      "greater_double_uint64", "greater_string", "greater_bytes", "greater_timestamp", "greater_duration"}},
    {op::kGreaterEquals,
     {"greater_equals_bool", "greater_equals_int64", "greater_equals_int64_double", "greater_equals_int64_uint64",
      "greater_equals_uint64", "greater_equals_uint64_double", "greater_equals_uint64_int64", "greater_equals_double",
      "greater_equals_double_int64", "greater_equals_double_uint64", "greater_equals_string", "greater_equals_bytes",
      "greater_equals_timestamp", "greater_equals_duration"}},
};

constexpr std::string_view kOrderingSignatures[14] = {
    "(bool, bool) bool",           "(int, int) bool",          "(int, double) bool",    "(int, uint) bool",
    "(uint, uint) bool",           "(uint, double) bool",      "(uint, int) bool",      "(double, double) bool",
    "(double, int) bool",          "(double, uint) bool",      "(string, string) bool", "(bytes, bytes) bool",
    "(timestamp, timestamp) bool", "(duration, duration) bool"};

constexpr std::string_view kQuantityOrderings[4][2] = {{op::kLess, "less_quantity"},
                                                       {op::kLessEquals, "less_equals_quantity"},
                                                       {op::kGreater, "greater_quantity"},
                                                       {op::kGreaterEquals, "greater_equals_quantity"}};

}  // namespace

void add_operator_specs(SpecList& out) {
  auto add = [&](std::string_view function, std::string_view id, std::string_view signature,
                 CostRule cost = CostRule::kOne) {
    out.push_back({function, id, signature, nullptr, cost});
  };
  add(op::kConditional, "conditional", "(bool, <A>, <A>) <A>");
  add(op::kAnd, "logical_and", "(bool, bool) bool");
  add(op::kOr, "logical_or", "(bool, bool) bool");
  add(op::kNot, "logical_not", "(bool) bool");
  add(op::kNotStrictlyFalse, "not_strictly_false", "(bool) bool");
  add(op::kEquals, "equals", "(<A>, <A>) bool", CostRule::kCompare);
  add(op::kNotEquals, "not_equals", "(<A>, <A>) bool", CostRule::kCompare);
  for (const OrderingIds& o : kOrderings) {
    for (size_t i = 0; i < 14; ++i) {
      bool text = i == 10 || i == 11;
      add(o.function, o.ids[i], kOrderingSignatures[i], text ? CostRule::kCompare : CostRule::kOne);
    }
  }
  add(op::kAdd, "add_bytes", "(bytes, bytes) bytes", CostRule::kConcat);
  add(op::kAdd, "add_double", "(double, double) double");
  add(op::kAdd, "add_duration_duration", "(duration, duration) duration");
  add(op::kAdd, "add_duration_timestamp", "(duration, timestamp) timestamp");
  add(op::kAdd, "add_timestamp_duration", "(timestamp, duration) timestamp");
  add(op::kAdd, "add_int64", "(int, int) int");
  add(op::kAdd, "add_list", "(list(<A>), list(<A>)) list(<A>)");
  add(op::kAdd, "add_string", "(string, string) string", CostRule::kConcat);
  add(op::kAdd, "add_uint64", "(uint, uint) uint");
  add(op::kSubtract, "subtract_double", "(double, double) double");
  add(op::kSubtract, "subtract_duration_duration", "(duration, duration) duration");
  add(op::kSubtract, "subtract_int64", "(int, int) int");
  add(op::kSubtract, "subtract_timestamp_duration", "(timestamp, duration) timestamp");
  add(op::kSubtract, "subtract_timestamp_timestamp", "(timestamp, timestamp) duration");
  add(op::kSubtract, "subtract_uint64", "(uint, uint) uint");
  add(op::kMultiply, "multiply_double", "(double, double) double");
  add(op::kMultiply, "multiply_int64", "(int, int) int");
  add(op::kMultiply, "multiply_uint64", "(uint, uint) uint");
  add(op::kDivide, "divide_double", "(double, double) double");
  add(op::kDivide, "divide_int64", "(int, int) int");
  add(op::kDivide, "divide_uint64", "(uint, uint) uint");
  add(op::kModulo, "modulo_int64", "(int, int) int");
  add(op::kModulo, "modulo_uint64", "(uint, uint) uint");
  add(op::kNegate, "negate_double", "(double) double");
  add(op::kNegate, "negate_int64", "(int) int");
  add(op::kIn, "in_list", "(<A>, list(<A>)) bool", CostRule::kInList);
  add(op::kIn, "in_map", "(<A>, map(<A>, <B>)) bool");
  add(op::kIndex, "index_list", "(list(<A>), int) <A>");
  add(op::kIndex, "index_map", "(map(<A>, <B>), <A>) <B>");
  add(op::kIndex, "optional_list_index_int", "(optional(list(<V>)), int) optional(<V>)");
  add(op::kIndex, "optional_map_index_value", "(optional(map(<K>, <V>)), <K>) optional(<V>)");
  add(op::kOptIndex, "list_optindex_optional_int", "(list(<V>), int) optional(<V>)");
  add(op::kOptIndex, "optional_list_optindex_optional_int", "(optional(list(<V>)), int) optional(<V>)");
  add(op::kOptIndex, "map_optindex_optional_value", "(map(<K>, <V>), <K>) optional(<V>)");
  add(op::kOptIndex, "optional_map_optindex_optional_value", "(optional(map(<K>, <V>)), <K>) optional(<V>)");
  add(op::kMapInsert, "@mapInsert_map_key_value", "(map(<K>, <V>), <K>, <V>) map(<K>, <V>)");
  add(op::kMapInsert, "@mapInsert_map_map", "(map(<K>, <V>), map(<K>, <V>)) map(<K>, <V>)");
  // The extension `quantity-operators` (EnvironmentOptions); not part of Kubernetes.
  for (const auto& q : kQuantityOrderings) {
    out.push_back({q[0], q[1], "(Quantity, Quantity) bool", nullptr, CostRule::kOne, kQuantityExtension});
  }
}

}  // namespace dra::cel
