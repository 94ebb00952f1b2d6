// The tree a checked expression is lowered to. Internal to pkg/cel.
//
// Nodes are immutable and live as long as their program. Evaluating one charges exactly what upstream's cost tracker
// charges (cel-go interpreter/runtimecost.go); an error is a value.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "pkg/cel/check/overloads.h"
#include "pkg/cel/device/device_rep.h"
#include "pkg/cel/eval/eval_context.h"
#include "pkg/cel/lib/regex.h"

namespace dra::cel {

// A local that has not been read yet: its initialiser is evaluated at the first read.
inline constexpr Kind kLazyKind = static_cast<Kind>(255);

class Node {
 public:
  virtual ~Node() = default;
  virtual Value eval(EvalContext& c) const = 0;
  // As a branch of ?: or as an index: a variable's leading unit of cost is not charged.
  virtual Value eval_branch(EvalContext& c) const { return eval(c); }
  // The value when it is a constant for upstream's planner too (free of cost), else null.
  virtual const Value* constant() const { return nullptr; }
};
using NodePtr = std::unique_ptr<const Node>;

// What upstream's cost tracker takes as the size of a value.
uint64_t cost_size(const Value& v);

// What is charged before (result null) or after a call. `args` may hold errors.
uint64_t call_cost(EvalContext& c, CostRule rule, bool single_overload, std::string_view function, const Value* args,
                   size_t count, const Value* result);
// Whether call_cost of a rule needs the result.
bool charged_after(CostRule rule);

class ConstNode : public Node {
 public:
  explicit ConstNode(Value v, uint64_t cost = 0) : value_(v), cost_(cost) {}
  Value eval(EvalContext& c) const override {
    if (cost_ != 0) c.charge(cost_);
    return value_;
  }
  const Value* constant() const override { return cost_ == 0 && !value_.is_error() ? &value_ : nullptr; }

 private:
  Value value_;
  uint64_t cost_;
};

class LocalNode : public Node {
 public:
  explicit LocalNode(uint32_t slot) : slot_(slot) {}
  Value eval(EvalContext& c) const override {
    c.charge(1);
    return eval_branch(c);
  }
  Value eval_branch(EvalContext& c) const override {
    Value& v = c.locals[slot_];
    if (v.kind == kLazyKind) v = c.lazy[slot_]->eval(c);
    return v;
  }

 private:
  uint32_t slot_;
};

// `device`, or a variable of a generic environment.
class VariableNode : public Node {
 public:
  // Negative index: the device.
  VariableNode(int32_t index, std::string_view name) : index_(index), name_(name) {}
  Value eval(EvalContext& c) const override {
    c.charge(1);
    return eval_branch(c);
  }
  Value eval_branch(EvalContext& c) const override;

 private:
  int32_t index_;
  std::string_view name_;
};

// device.driver, device.allowMultipleAllocations.
class DeviceFieldNode : public Node {
 public:
  explicit DeviceFieldNode(bool driver) : driver_(driver) {}
  Value eval(EvalContext& c) const override {
    c.charge(2);
    return driver_ ? c.facts->driver : c.facts->allow_multiple;
  }
  Value eval_branch(EvalContext& c) const override {
    c.charge(1);
    return driver_ ? c.facts->driver : c.facts->allow_multiple;
  }

 private:
  bool driver_;
};

// device.attributes["domain"].name and device.capacity["domain"].name, plainly, with .? or in has().
class SlotNode : public Node {
 public:
  enum class Mode { kPlain, kOptional, kHas };
  // The texts must outlive the node.
  SlotNode(bool capacity, std::string_view domain, std::string_view name, std::string_view missing, Mode mode);
  Value eval(EvalContext& c) const override { return eval_with(c, mode_ == Mode::kHas ? 0 : 1); }
  Value eval_branch(EvalContext& c) const override { return eval_with(c, 0); }

 private:
  Value eval_with(EvalContext& c, uint64_t lead) const;

  bool capacity_;
  Mode mode_;
  uint64_t hash_;
  std::string_view domain_;
  std::string_view name_;
  ErrorRep missing_;
};

struct Qualifier {
  Value key;  // when `index` is null
  const Node* index = nullptr;
  bool optional = false;
  std::string_view missing;  // "no such key: K" of a constant key
};

// A variable or expression followed by selections and indexes.
class ChainNode : public Node {
 public:
  enum class Head { kVariable, kExpression, kConditional };
  ChainNode(Head head, const Node* operand, std::vector<Qualifier> qualifiers, bool presence)
      : head_(head), presence_(presence), operand_(operand), qualifiers_(std::move(qualifiers)) {}
  Value eval(EvalContext& c) const override;
  Value eval_branch(EvalContext& c) const override;

  Head head() const { return head_; }
  bool presence() const { return presence_; }
  const Node* operand() const { return operand_; }
  const std::vector<Qualifier>& qualifiers() const { return qualifiers_; }

 private:
  Value walk(EvalContext& c) const;

  Head head_;
  bool presence_;  // has(): the last qualifier is only tested
  const Node* operand_;
  std::vector<Qualifier> qualifiers_;
};

class LogicalNode : public Node {
 public:
  LogicalNode(bool is_and, std::vector<const Node*> terms) : is_and_(is_and), terms_(std::move(terms)) {}
  Value eval(EvalContext& c) const override;

 private:
  bool is_and_;
  std::vector<const Node*> terms_;
};

class NotNode : public Node {
 public:
  explicit NotNode(const Node* operand) : operand_(operand) {}
  Value eval(EvalContext& c) const override;

 private:
  const Node* operand_;
};

class NotStrictlyFalseNode : public Node {
 public:
  explicit NotStrictlyFalseNode(const Node* operand) : operand_(operand) {}
  Value eval(EvalContext& c) const override;

 private:
  const Node* operand_;
};

class ConditionalNode : public Node {
 public:
  ConditionalNode(const Node* condition, const Node* yes, const Node* no) : condition_(condition), yes_(yes), no_(no) {}
  Value eval(EvalContext& c) const override;

 private:
  const Node* condition_;
  const Node* yes_;
  const Node* no_;
};

class EqualNode : public Node {
 public:
  EqualNode(bool negated, const Node* a, const Node* b) : negated_(negated), a_(a), b_(b) {}
  Value eval(EvalContext& c) const override;

 private:
  bool negated_;
  const Node* a_;
  const Node* b_;
};

enum class Relation : uint8_t { kLess, kLessEqual, kGreater, kGreaterEqual };

class CompareNode : public Node {
 public:
  // `by_size`: charged by the operands' sizes. `quantities`: the extension that orders quantities.
  CompareNode(Relation relation, std::string_view function, bool by_size, bool quantities, const Node* a, const Node* b)
      : relation_(relation), by_size_(by_size), quantities_(quantities), function_(function), a_(a), b_(b) {}
  Value eval(EvalContext& c) const override;

 private:
  Relation relation_;
  bool by_size_;
  bool quantities_;
  std::string_view function_;
  const Node* a_;
  const Node* b_;
};

enum class Arithmetic : uint8_t { kAdd, kSubtract, kMultiply, kDivide, kModulo };

class ArithmeticNode : public Node {
 public:
  ArithmeticNode(Arithmetic operation, bool by_size, const Node* a, const Node* b)
      : operation_(operation), by_size_(by_size), a_(a), b_(b) {}
  Value eval(EvalContext& c) const override;

 private:
  Arithmetic operation_;
  bool by_size_;
  const Node* a_;
  const Node* b_;
};

class NegateNode : public Node {
 public:
  explicit NegateNode(const Node* operand) : operand_(operand) {}
  Value eval(EvalContext& c) const override;

 private:
  const Node* operand_;
};

// `in`, with the right side evaluated.
class InNode : public Node {
 public:
  InNode(bool by_size, const Node* element, const Node* container)
      : by_size_(by_size), element_(element), container_(container) {}
  Value eval(EvalContext& c) const override;

 private:
  bool by_size_;
  const Node* element_;
  const Node* container_;
};

// `x in [constants]`.
class InSetNode : public Node {
 public:
  InSetNode(const Node* element, const MapRep* set) : element_(element), set_(set) {}
  Value eval(EvalContext& c) const override;

 private:
  const Node* element_;
  const MapRep* set_;
};

class ListNode : public Node {
 public:
  ListNode(std::vector<const Node*> elements, std::vector<bool> optional)
      : elements_(std::move(elements)), optional_(std::move(optional)) {}
  Value eval(EvalContext& c) const override;

 private:
  std::vector<const Node*> elements_;
  std::vector<bool> optional_;  // empty: none is
};

// What making a message costs.
inline constexpr uint64_t kMessageCost = 40;

// A device made by the expression. Upstream's evaluator knows no such type, so it never succeeds.
class MessageNode : public Node {
 public:
  MessageNode(std::string_view type, std::vector<const Node*> values) : type_(type), values_(std::move(values)) {}
  Value eval(EvalContext& c) const override;

 private:
  std::string_view type_;
  std::vector<const Node*> values_;
};

class MapNode : public Node {
 public:
  // Key, value, key, value ...
  MapNode(std::vector<const Node*> parts, std::vector<bool> optional)
      : parts_(std::move(parts)), optional_(std::move(optional)) {}
  Value eval(EvalContext& c) const override;

 private:
  Value entry(EvalContext& c, size_t i, MapEntry* entries, size_t& used) const;
  std::vector<const Node*> parts_;
  std::vector<bool> optional_;
};

// or(), orValue().
class OrElseNode : public Node {
 public:
  OrElseNode(bool unwrap, const Node* a, const Node* b) : unwrap_(unwrap), a_(a), b_(b) {}
  Value eval(EvalContext& c) const override;

 private:
  bool unwrap_;
  const Node* a_;
  const Node* b_;
};

class CallNode : public Node {
 public:
  // `overloads`: those the checker matched when it is one, else all of this name with this many arguments.
  CallNode(std::string_view function, std::vector<const Overload*> overloads, bool single, CostRule rule,
           std::vector<const Node*> args)
      : function_(function), overloads_(std::move(overloads)), single_(single), rule_(rule), args_(std::move(args)) {}
  Value eval(EvalContext& c) const override;

 private:
  Value call(EvalContext& c, const Value* values) const;

  std::string_view function_;
  std::vector<const Overload*> overloads_;
  bool single_;
  CostRule rule_;
  std::vector<const Node*> args_;
};

// matches(), find(), findAll() with a constant pattern.
class RegexNode : public Node {
 public:
  enum class Use { kMatches, kFind, kFindAll };
  RegexNode(Use use, bool free_form, std::shared_ptr<const lib::Regex> regex, Value pattern, const Node* text,
            const Node* count)
      : use_(use), free_form_(free_form), regex_(std::move(regex)), pattern_(pattern), text_(text), count_(count) {}
  Value eval(EvalContext& c) const override;

 private:
  Use use_;
  bool free_form_;  // matches(text, pattern), which has another cost
  std::shared_ptr<const lib::Regex> regex_;
  Value pattern_;
  const Node* text_;
  const Node* count_;
};

// A comprehension. Slots are indexes of locals.
class FoldNode : public Node {
 public:
  struct Parts {
    const Node* range;
    const Node* init;
    const Node* condition;
    const Node* step;
    const Node* result;
    uint32_t accumulator;
    uint32_t first;
    uint32_t second;
    bool two_variables;
  };
  explicit FoldNode(const Parts& parts) : p_(parts) {}
  Value eval(EvalContext& c) const override;

 private:
  bool step(EvalContext& c) const;
  Value not_iterable(EvalContext& c, const Value& range) const;
  Parts p_;
};

// cel.bind and its like.
class BindNode : public Node {
 public:
  BindNode(uint32_t slot, const Node* init, const Node* result) : slot_(slot), init_(init), result_(result) {}
  Value eval(EvalContext& c) const override {
    c.locals[slot_].kind = kLazyKind;
    c.lazy[slot_] = init_;
    return result_->eval(c);
  }

 private:
  uint32_t slot_;
  const Node* init_;
  const Node* result_;
};

// accumulator + [element], growing the accumulator's list in place: nothing else can see it.
class AppendNode : public Node {
 public:
  // `list_cost`: what the literal around the element costs.
  AppendNode(const LocalNode* accumulator, const Node* element, uint64_t list_cost)
      : accumulator_(accumulator), element_(element), list_cost_(list_cost) {}
  Value eval(EvalContext& c) const override;

 private:
  const LocalNode* accumulator_;
  const Node* element_;
  uint64_t list_cost_;
};

// cel.@mapInsert(accumulator, key, value) or (accumulator, map), likewise in place.
class InsertNode : public Node {
 public:
  InsertNode(const LocalNode* accumulator, const Node* key, const Node* value)
      : accumulator_(accumulator), key_(key), value_(value) {}
  Value eval(EvalContext& c) const override;

 private:
  Value insert(EvalContext& c, Value& accumulator, const Value& key, const Value& value) const;
  const LocalNode* accumulator_;
  const Node* key_;    // or the map
  const Node* value_;  // null: insert a map's entries
};

// Makes an accumulator that InsertNode grew an ordinary map.
Value settled_map(EvalContext& c, const Value& accumulator);

}  // namespace dra::cel
