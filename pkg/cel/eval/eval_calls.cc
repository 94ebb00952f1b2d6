// Function calls and what they cost at run time.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <new>

#include "pkg/api/quantity.h"
#include "pkg/cel/eval/eval_nodes.h"
#include "pkg/cel/eval/function_support.h"
#include "pkg/cel/lib/named_format.h"
#include "pkg/cel/lib/net.h"
#include "pkg/cel/syntax/ast.h"

namespace dra::cel {
namespace {

constexpr size_t kMaxArguments = 8;

// Kubernetes' traversal of a value (library/cost.go traversalCost).
uint64_t traversal(const Value& v) {
  switch (v.kind) {
    case Kind::kString:
    case Kind::kBytes:
      return static_cast<uint64_t>(static_cast<double>(v.length) * 0.1);
    case Kind::kList: {
      uint64_t sum = 0;
      for (uint32_t i = 0; i < v.list->size; ++i) sum = saturating_add(sum, traversal(v.list->items[i]));
      return sum;
    }
    case Kind::kMap: {
      uint64_t sum = 0;
      for (uint32_t i = 0; i < v.map->size; ++i) {
        sum = saturating_add(sum, traversal(v.map->entries[i].key));
        sum = saturating_add(sum, traversal(v.map->entries[i].value));
      }
      return sum;
    }
    default:
      return 1;
  }
}

uint64_t quadratic(EvalContext& c, const Value& list, const Value& keys) {
  uint64_t n = c.size_of(list);
  bool text = keys.kind == Kind::kList && keys.list->size > 0 &&
              (keys.list->items[0].kind == Kind::kString || keys.list->items[0].kind == Kind::kBytes);
  double cost = static_cast<double>(saturating_multiply(n, n)) * (text ? 2.1 : 2.0);
  return saturating_add(11, cost >= 1.8e19 ? UINT64_MAX : static_cast<uint64_t>(cost));
}

uint64_t text_argument(EvalContext& c, const Value& v) {
  return v.kind == Kind::kString ? tenth_cost(c.size_of(v)) : 0;
}

uint64_t flatten_cost(EvalContext& c, const Value* args, size_t count) {
  // Upstream's arithmetic wraps around for a negative depth.
  uint64_t depth = count > 1 && args[1].kind == Kind::kInt ? args[1].u : 1;
  return 11 + depth * c.size_of(args[0]);
}

}  // namespace

uint64_t cost_size(const Value& v) {
  switch (v.kind) {
    case Kind::kString:
      return string_size(v);
    case Kind::kBytes:
      return v.length;
    case Kind::kList:
      return v.list->size;
    case Kind::kMap:
      return v.map->size;
    case Kind::kIp:
      return v.ip->v6 ? 16 : 4;
    case Kind::kCidr:
      return (static_cast<uint64_t>(v.cidr->prefix) + 7) / 8;
    case Kind::kOptional:
      return v.optional == nullptr ? 1 : cost_size(*v.optional);
    default:
      return 1;
  }
}

bool charged_after(CostRule rule) {
  return rule == CostRule::kSlice || rule == CostRule::kReverse || rule == CostRule::kJoin;
}

uint64_t call_cost(EvalContext& c, CostRule rule, bool single, std::string_view function, const Value* args,
                   size_t count, const Value* result) {
  if (!single && !by_function_name(rule)) return 1;
  auto s = [&] { return c.size_of(args[0]); };
  auto t = [&] { return c.size_of(args[1]); };
  switch (rule) {
    case CostRule::kSetsContains:
      return saturating_add(1, saturating_multiply(s(), t()));
    case CostRule::kSetsEquivalent:
      return saturating_add(1, saturating_multiply(2, saturating_multiply(s(), t())));
    case CostRule::kRange: {
      bool is_int = args[0].kind == Kind::kInt;
      return saturating_add(11, !is_int ? 1 : args[0].i <= 0 ? 0 : args[0].u);
    }
    case CostRule::kSlice:
    case CostRule::kReverse:
      return saturating_add(11, c.size_of(*result));
    case CostRule::kFlatten:
      return flatten_cost(c, args, count);
    case CostRule::kFlattenSaturating:
      return saturating_add(11, saturating_multiply(args[1].u, s()));
    case CostRule::kQuadratic:
      return quadratic(c, args[0], args[count - 1]);
    case CostRule::kTraverse:
    case CostRule::kIncludes:
      return traversal(args[0]);
    case CostRule::kStringPass:
      return tenth_cost(s());
    case CostRule::kReplace:
    case CostRule::kSplit:
    case CostRule::kCanonical:
      return scaled_cost(s(), 2 * 0.1);
    case CostRule::kJoin:
      return scaled_cost(c.size_of(*result), 2 * 0.1);
    case CostRule::kFind:
      return tenth_cost(s() + 1) * scaled_cost(t(), 0.25);
    case CostRule::kParse:
      return function == "ip" && args[0].kind == Kind::kCidr ? 1 : tenth_cost(s());
    case CostRule::kContainsIp:
      return tenth_cost(s() + s()) + (single ? text_argument(c, args[1]) : 0);
    case CostRule::kContainsCidr:
      return tenth_cost(s() + s()) + tenth_cost(s()) + 1 + (single ? text_argument(c, args[1]) : 0);
    case CostRule::kValidate: {
      uint64_t regex = args[0].kind == Kind::kFormat ? args[0].format->regex_size : 1;
      return tenth_cost(t() + 1) * scaled_cost(regex, 0.25);
    }
    case CostRule::kAuthzCheck:
      return 350'000;
    case CostRule::kStringTenth:
      return tenth_cost(s());
    case CostRule::kMatches:
      return tenth_cost(s() + 1) * scaled_cost(t(), 0.25);
    case CostRule::kContains:
      return tenth_cost(s()) * tenth_cost(t());
    default:
      return 1;
  }
}

namespace {

// What a function does with its arguments: reads texts closely, and looks at every part of other values.
uint64_t argument_work(const Value& v) {
  switch (v.kind) {
    case Kind::kString:
    case Kind::kBytes:
      return v.length / 4;
    case Kind::kQuantity:  // nearly all are of one word
      return v.quantity->words() == 1 ? 0 : value_weight(v);
    default:
      return value_weight(v);
  }
}

// Functions that compare elements with each other reach nested ones as often.
uint64_t work_of(CostRule rule, bool single, const Value* args, size_t count) {
  uint64_t work = 0;
  for (size_t i = 0; i < count; ++i) work = saturating_add(work, argument_work(args[i]));
  const bool pairs = rule == CostRule::kSetsContains || rule == CostRule::kSetsEquivalent;
  if ((!pairs && rule != CostRule::kQuadratic) || args[0].kind != Kind::kList) return work;
  const uint64_t last = cost_size(args[count - 1]);
  // Pairs of flat lists are paid for by the cost, unless several overloads matched: then the cost is 1.
  if (single && work <= 2 * cost_size(args[0]) + last) return work;
  // sort() with its several overloads takes n log n comparisons; the others have one overload, and compare all pairs.
  const uint64_t times = single ? last : 2 * static_cast<uint64_t>(std::bit_width(last));
  return saturating_multiply(work, std::max<uint64_t>(times, 1));
}

}  // namespace

Value CallNode::call(EvalContext& c, const Value* values) const {
  if (!c.spend(work_of(rule_, single_, values, args_.size()))) return aborted(c);
  for (const Overload* o : overloads_) {
    bool fits = o->implementation != nullptr;
    for (size_t i = 0; i < args_.size() && fits; ++i) fits = o->guards[i].accepts(values[i]);
    if (fits) return o->implementation(c, values);
  }
  if (args_.size() == 1 && function_ == "size") return c.no_operation(function_, values[0]);
  return c.no_overload_call(function_, values, args_.size());
}

Value CallNode::eval(EvalContext& c) const {
  if (args_.size() > kMaxArguments) return c.no_overload(function_);
  // Only those that are evaluated are made.
  alignas(Value) std::byte storage[kMaxArguments * sizeof(Value)];
  Value* values = reinterpret_cast<Value*>(storage);
  const Value* error = nullptr;
  size_t evaluated = 0;
  // Calls of more than two arguments, and those dispatched by name, stop at the first error and are then not charged.
  bool stops = args_.size() > 2 || !single_;
  for (; evaluated < args_.size(); ++evaluated) {
    new (values + evaluated) Value(args_[evaluated]->eval(c));
    if (c.aborted != nullptr) return aborted(c);
    if (values[evaluated].is_error() && error == nullptr) {
      error = &values[evaluated];
      if (stops) {
        ++evaluated;
        break;
      }
    }
  }
  if (error != nullptr) {
    if (evaluated == args_.size()) {
      c.charge(args_.empty() ? 1 : call_cost(c, rule_, single_, function_, values, args_.size(), error));
    }
    return *error;
  }
  bool after = charged_after(rule_) && (single_ || by_function_name(rule_));
  if (!after) c.charge(args_.empty() ? 1 : call_cost(c, rule_, single_, function_, values, args_.size(), nullptr));
  if (c.aborted != nullptr) return aborted(c);
  Value result = call(c, values);
  if (after) c.charge(call_cost(c, rule_, single_, function_, values, args_.size(), &result));
  return result;
}

Value RegexNode::eval(EvalContext& c) const {
  Value args[2] = {text_->eval(c), pattern_};
  Value count;
  if (count_ != nullptr && !args[0].is_error()) count = count_->eval(c);
  bool charged = count_ == nullptr || !args[0].is_error();
  if (charged) {
    CostRule rule = use_ != Use::kMatches ? CostRule::kFind : free_form_ ? CostRule::kOne : CostRule::kMatches;
    c.charge(call_cost(c, rule, true, "", args, 2, nullptr));
  }
  if (args[0].is_error()) return args[0];
  if (count.is_error()) return count;
  if (args[0].kind != Kind::kString || (count_ != nullptr && count.kind != Kind::kInt)) return c.no_overload();
  if (c.aborted != nullptr) return aborted(c);
  std::string_view text = args[0].str();
  if (use_ != Use::kFindAll) {
    if (!c.spend(regex_->steps(text.size()))) return aborted(c);
    return use_ == Use::kMatches ? Value::of_bool(regex_->matches(text)) : Value::of_string(regex_->find(text));
  }
  lib::Budget budget = c.budget();
  auto found = regex_->find_all(text, count_ == nullptr ? -1 : count.i, budget);
  c.settle(budget);
  if (!found) return failed(c, found.error());
  Value* items = new_items(c, found->size());
  if (items == nullptr) return aborted(c);
  for (size_t i = 0; i < found->size(); ++i) items[i] = Value::of_string((*found)[i]);
  return list_of(c, items, found->size());
}

}  // namespace dra::cel
