#include "pkg/cel/eval/lower.h"

#include <algorithm>
#include <cmath>

#include "pkg/cel/eval/function_support.h"

namespace dra::cel {
namespace {

constexpr std::string_view kConversions[] = {"bool", "bytes",  "double",    "duration", "dyn",
                                             "int",  "string", "timestamp", "type",     "uint"};
// Pure functions of constants that are evaluated only once. Unlike conversions they keep their cost, and their errors
// remain values.
constexpr std::string_view kFolded[] = {"quantity", "isQuantity", "semver", "isSemver", "ip",
                                        "isIP",     "cidr",       "isCIDR", "url",      "isURL"};

template <size_t N>
bool is_one_of(std::string_view name, const std::string_view (&names)[N]) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

bool is_plain_key(const Value& v) {
  return v.kind == Kind::kString || v.kind == Kind::kInt || v.kind == Kind::kUint || v.kind == Kind::kBool ||
         v.kind == Kind::kDouble;
}

struct Scope {
  std::string_view name;
  uint32_t slot;
};

class Lowering {
 public:
  Lowering(const Environment::Rep& env, uint32_t node_count, lib::RegexPool& patterns, Program::Rep& program)
      : env_(env), patterns_(patterns), program_(program), arena_(program.arena), lowered_(node_count) {}

  std::optional<LoweringError> run(const Expr* root) {
    program_.root = lower(root);
    program_.locals = most_locals_;
    return std::move(error_);
  }

 private:
  template <typename T, typename... Args>
  const T* make(Args&&... args) {
    auto node = std::make_unique<T>(std::forward<Args>(args)...);
    const T* raw = node.get();
    program_.nodes.push_back(std::move(node));
    return raw;
  }
  const Node* constant(Value v, uint64_t cost = 0) { return make<ConstNode>(v, cost); }

  const Node* fail(CompileCategory category, std::string message) {
    if (!error_) error_ = LoweringError{category, std::move(message)};
    return constant(Value::null());
  }
  const Node* program_error(std::string_view message) {
    return fail(CompileCategory::kProgram, "program instantiation failed: " + std::string(message));
  }

  const Node* lower(const Expr* e) {
    const Node*& known = lowered_[e->id];
    if (known == nullptr) known = lower_new(e);
    return known;
  }

  const Node* lower_new(const Expr* e) {
    switch (e->kind) {
      case ExprKind::kConst:
        return constant(kept(e->constant));
      case ExprKind::kIdent:
        return variable(e);
      case ExprKind::kSelect:
        return e->variable.empty() ? select(e) : variable(e);
      case ExprKind::kCall:
        return call(e);
      case ExprKind::kList:
        return list(e);
      case ExprKind::kMap:
        return map(e);
      case ExprKind::kMessage:
        return message(e);
      case ExprKind::kComprehension:
        return fold(e);
      default:
        return program_error("unsupported expression");
    }
  }

  // Literals live in the compilation's arena; a program keeps its own copies.
  Value kept(Value v) {
    if (v.kind == Kind::kString || v.kind == Kind::kBytes) v.text = arena_.copy(v.str()).data();
    return v;
  }

  const Scope* find_local(std::string_view name) const {
    for (size_t i = scopes_.size(); i > 0; --i) {
      if (scopes_[i - 1].name == name) return &scopes_[i - 1];
    }
    return nullptr;
  }

  uint32_t push_local(std::string_view name) {
    auto slot = static_cast<uint32_t>(scopes_.size());
    scopes_.push_back({name, slot});
    most_locals_ = std::max(most_locals_, slot + 1);
    return slot;
  }

  const Node* variable(const Expr* e) {
    bool skip_locals = e->leading_dot && env_.options.release == Release::k137;
    if (const Scope* local = skip_locals ? nullptr : find_local(e->variable)) return make<LocalNode>(local->slot);
    if (e->is_type_name) {
      bool exists = false;
      type_name_type(e->variable, exists);
      if (!exists) return program_error("reference to undefined type: " + std::string(e->variable));
      return constant(Value::of_type(arena_.copy(e->variable)));
    }
    const auto* v = env_.find_variable(e->variable);
    if (v == nullptr) return program_error("unknown variable " + std::string(e->variable));
    return make<VariableNode>(env_.device ? -1 : static_cast<int32_t>(v->index), arena_.copy(e->variable));
  }

  // ---- chains

  // One link of a chain of selections and indexes.
  struct Link {
    const Expr* at;
    const Expr* operand;
    const Expr* index;  // null: `field`
    std::string_view field;
    bool optional;
    bool test;
  };

  static bool as_link(const Expr* e, Link& link) {
    if (e->kind == ExprKind::kSelect && e->variable.empty()) {
      link = {e, e->target, nullptr, e->name, false, e->test_only};
      return true;
    }
    if (e->kind != ExprKind::kCall || e->target != nullptr || e->arg_count != 2) return false;
    if (e->name == op::kOptSelect) {
      link = {e, e->args[0], nullptr, e->args[1]->constant.str(), true, false};
      return true;
    }
    if (e->name != op::kIndex && e->name != op::kOptIndex) return false;
    link = {e, e->args[0], e->args[1], {}, e->name == op::kOptIndex, false};
    return true;
  }

  const Node* select(const Expr* e) {
    std::vector<Link> links;
    Link link;
    const Expr* head = e;
    while (as_link(head, link) && (links.empty() || !link.test)) {
      links.push_back(link);
      head = link.operand;
    }
    std::reverse(links.begin(), links.end());
    std::vector<Qualifier> qualifiers;
    for (const Link& l : links) qualifiers.push_back(qualifier(l));
    if (error_) return constant(Value::null());
    bool presence = links.back().test;
    if (const Node* slot = device_slot(head, qualifiers, presence)) return slot;
    const Node* operand = lower(head);
    return make<ChainNode>(head_kind(head), operand, std::move(qualifiers), presence);
  }

  static ChainNode::Head head_kind(const Expr* head) {
    if (head->is_call(op::kConditional)) return ChainNode::Head::kConditional;
    bool variable = (head->kind == ExprKind::kIdent || head->kind == ExprKind::kSelect) && !head->is_type_name;
    return variable ? ChainNode::Head::kVariable : ChainNode::Head::kExpression;
  }

  Qualifier qualifier(const Link& l) {
    Qualifier q;
    q.optional = l.optional;
    if (l.index == nullptr) {
      q.key = Value::of_scanned_string(arena_.copy(l.field));
    } else {
      const Node* index = lower(l.index);
      const Value* v = index->constant();
      if (v == nullptr) {
        q.index = index;
        return q;
      }
      if (!is_plain_key(*v)) program_error("invalid qualifier type: " + std::string(go_type_name(*v)));
      q.key = *v;
    }
    q.missing = arena_.copy("no such key: " + bare_text(q.key));
    return q;
  }

  // device.driver and the members of device.attributes["d"] and device.capacity["d"].
  const Node* device_slot(const Expr* head, const std::vector<Qualifier>& q, bool presence) {
    if (!env_.device || head->kind != ExprKind::kIdent || head->variable != kDeviceVariable ||
        find_local(kDeviceVariable) != nullptr) {
      return nullptr;
    }
    for (const Qualifier& x : q) {
      if (x.index != nullptr || x.key.kind != Kind::kString) return nullptr;
    }
    std::string_view field = q[0].key.str();
    if (q[0].optional) return nullptr;
    if (q.size() == 1 && !presence && (field == "driver" || field == "allowMultipleAllocations")) {
      return make<DeviceFieldNode>(field == "driver");
    }
    if (q.size() != 3 || q[1].optional || (field != "attributes" && field != "capacity")) return nullptr;
    SlotNode::Mode mode = presence        ? SlotNode::Mode::kHas
                          : q[2].optional ? SlotNode::Mode::kOptional
                                          : SlotNode::Mode::kPlain;
    return make<SlotNode>(field == "capacity", q[1].key.str(), q[2].key.str(), q[2].missing, mode);
  }

  // ---- literals

  const Node* message(const Expr* e) {
    std::vector<const Node*> values;
    for (uint32_t i = 0; i < e->arg_count; ++i) values.push_back(lower(e->args[i]));
    return make<MessageNode>(arena_.copy(e->name), std::move(values));
  }

  const Node* list(const Expr* e) {
    std::vector<const Node*> elements;
    std::vector<bool> optional;
    bool all_constant = e->optional == nullptr;
    for (uint32_t i = 0; i < e->arg_count; ++i) {
      elements.push_back(lower(e->args[i]));
      all_constant = all_constant && elements.back()->constant() != nullptr;
      if (e->optional != nullptr) optional.push_back(e->is_optional_at(i));
    }
    if (!all_constant) return make<ListNode>(std::move(elements), std::move(optional));
    auto* items = arena_.array<Value>(elements.size());
    for (size_t i = 0; i < elements.size(); ++i) items[i] = *elements[i]->constant();
    auto* rep = arena_.make<ListRep>();
    rep->items = items;
    rep->size = static_cast<uint32_t>(elements.size());
    rep->weight = list_weight(items, elements.size());
    return constant(Value::of_list(rep));
  }

  const Node* map(const Expr* e) {
    std::vector<const Node*> parts;
    std::vector<bool> optional;
    bool all_constant = e->optional == nullptr;
    for (uint32_t i = 0; i < e->arg_count; ++i) {
      parts.push_back(lower(e->args[i]));
      all_constant = all_constant && parts.back()->constant() != nullptr;
    }
    for (uint32_t i = 0; i < e->entry_count() && e->optional != nullptr; ++i) optional.push_back(e->is_optional_at(i));
    if (!all_constant) return make<MapNode>(std::move(parts), std::move(optional));
    auto* entries = arena_.array<MapEntry>(parts.size() / 2);
    for (size_t i = 0; i < parts.size() / 2; ++i) {
      entries[i] = {*parts[2 * i]->constant(), *parts[2 * i + 1]->constant()};
      if (!valid_key(entries[i].key)) {
        return fail(CompileCategory::kPanic, "compilation failed: a map key cannot be of type '" +
                                                 std::string(type_name(entries[i].key)) +
                                                 "': use a string, number or bool");
      }
    }
    return constant(Value::of_map(make_map(arena_, entries, parts.size() / 2)));
  }

  // ---- comprehensions

  const Node* fold(const Expr* e) {
    const Comprehension& f = *e->fold;
    if (f.is_bind()) {
      const Node* init = lower(f.init);
      uint32_t slot = push_local(f.accu_var);
      const Node* result = lower(f.result);
      scopes_.pop_back();
      return make<BindNode>(slot, init, result);
    }
    FoldNode::Parts parts{};
    parts.range = lower(f.range);
    parts.init = lower(f.init);
    parts.accumulator = push_local(f.accu_var);
    parts.first = push_local(f.iter_var);
    parts.two_variables = !f.iter_var2.empty();
    if (parts.two_variables) parts.second = push_local(f.iter_var2);
    parts.condition = lower(f.condition);
    parts.step = lower(f.step);
    scopes_.resize(parts.accumulator + 1);
    parts.result = lower(f.result);
    scopes_.pop_back();
    return make<FoldNode>(parts);
  }

  // `@result` in a step, as the node that reads it.
  const LocalNode* accumulator(const Expr* e) {
    if (e->kind != ExprKind::kIdent || e->variable != kAccumulator) return nullptr;
    const Scope* local = find_local(kAccumulator);
    if (local == nullptr) return nullptr;
    return make<LocalNode>(local->slot);
  }

  // ---- calls

  const Node* call(const Expr* e) {
    if (e->target == nullptr) {
      if (const Node* node = operator_call(e)) return node;
    }
    if (e->name == "or" || e->name == "orValue") {
      return make<OrElseNode>(e->name == "orValue", lower(e->target), lower(e->args[0]));
    }
    std::vector<const Node*> args;
    if (e->target != nullptr) args.push_back(lower(e->target));
    for (uint32_t i = 0; i < e->arg_count; ++i) args.push_back(lower(e->args[i]));
    if (error_) return constant(Value::null());
    if (const Node* node = regex_call(e, args)) return node;
    bool constant_args =
        !args.empty() && std::all_of(args.begin(), args.end(), [](const Node* n) { return n->constant() != nullptr; });
    const Node* node = make<CallNode>(arena_.copy(e->name), candidates(e, args.size()), e->overload_count == 1,
                                      e->overloads[0]->cost, args);
    if (!constant_args) return node;
    if (e->target == nullptr && args.size() == 1 && is_one_of(e->name, kConversions)) return converted(node);
    return e->target == nullptr && is_one_of(e->name, kFolded) ? folded(node) : node;
  }

  std::vector<const Overload*> candidates(const Expr* e, size_t arguments) {
    if (e->overload_count == 1) return {e->overloads[0]};
    std::vector<const Overload*> out;
    const auto* all = env_.find_function(e->name);
    for (size_t i = 0; all != nullptr && i < all->size(); ++i) {
      if ((*all)[i]->params.size() == arguments) out.push_back((*all)[i]);
    }
    return out;
  }

  // A conversion of a constant: upstream evaluates it when it builds the program, and fails there.
  const Node* converted(const Node* node) {
    EvalContext c(arena_);
    c.cost_limit = UINT64_MAX;
    c.memory_limit = SIZE_MAX;
    Value v = node->eval(c);
    return v.is_error() ? program_error(v.error->message) : constant(v);
  }

  const Node* folded(const Node* node) {
    EvalContext c(arena_);
    c.cost_limit = UINT64_MAX;
    c.memory_limit = SIZE_MAX;
    Value v = node->eval(c);
    return c.aborted != nullptr ? node : constant(v, c.cost);
  }

  const Node* regex_call(const Expr* e, const std::vector<const Node*>& args) {
    bool matches = e->name == "matches";
    if (!matches && e->name != "find" && e->name != "findAll") return nullptr;
    if (args.size() < 2 || e->overload_count != 1) return nullptr;
    const Value* pattern = args[1]->constant();
    if (pattern == nullptr || pattern->kind != Kind::kString) return nullptr;
    auto regex = patterns_.compile(pattern->str());
    if (!regex) return program_error(regex.error().message);
    RegexNode::Use use = matches             ? RegexNode::Use::kMatches
                         : e->name == "find" ? RegexNode::Use::kFind
                                             : RegexNode::Use::kFindAll;
    return make<RegexNode>(use, matches && e->target == nullptr, *regex, *pattern, args[0],
                           args.size() > 2 ? args[2] : nullptr);
  }

  const Node* operator_call(const Expr* e) {
    Link link;
    if (as_link(e, link)) return select(e);
    if (e->name == op::kAnd || e->name == op::kOr) return logical(e);
    if (e->name == op::kNot) return make<NotNode>(lower(e->args[0]));
    if (e->name == op::kNotStrictlyFalse) return make<NotStrictlyFalseNode>(lower(e->args[0]));
    if (e->name == op::kNegate) return make<NegateNode>(lower(e->args[0]));
    if (e->name == op::kConditional) {
      const Node* condition = lower(e->args[0]);
      return make<ConditionalNode>(condition, lower(e->args[1]), lower(e->args[2]));
    }
    if (e->name == op::kMapInsert) return insert(e);
    if (e->arg_count != 2) return nullptr;
    if (e->name == op::kEquals || e->name == op::kNotEquals) {
      return make<EqualNode>(e->name == op::kNotEquals, lower(e->args[0]), lower(e->args[1]));
    }
    if (e->name == op::kIn) return membership(e);
    if (const Node* node = relation(e)) return node;
    return arithmetic(e);
  }

  const Node* logical(const Expr* e) {
    std::vector<const Node*> terms;
    std::vector<const Expr*> todo{e};
    while (!todo.empty()) {
      const Expr* x = todo.back();
      todo.pop_back();
      if (x->is_call(e->name) && x->target == nullptr) {
        todo.push_back(x->args[1]);
        todo.push_back(x->args[0]);
      } else {
        terms.push_back(lower(x));
      }
    }
    return make<LogicalNode>(e->name == op::kAnd, std::move(terms));
  }

  const Node* relation(const Expr* e) {
    static constexpr std::pair<std::string_view, Relation> kRelations[] = {
        {op::kLess, Relation::kLess},
        {op::kLessEquals, Relation::kLessEqual},
        {op::kGreater, Relation::kGreater},
        {op::kGreaterEquals, Relation::kGreaterEqual}};
    for (const auto& [name, kind] : kRelations) {
      if (name != e->name) continue;
      return make<CompareNode>(kind, arena_.copy(e->name), by_size(e), env_.options.quantity_operators,
                               lower(e->args[0]), lower(e->args[1]));
    }
    return nullptr;
  }

  static bool by_size(const Expr* e) { return e->overload_count == 1 && e->overloads[0]->cost != CostRule::kOne; }

  const Node* arithmetic(const Expr* e) {
    static constexpr std::pair<std::string_view, Arithmetic> kOperations[] = {{op::kAdd, Arithmetic::kAdd},
                                                                              {op::kSubtract, Arithmetic::kSubtract},
                                                                              {op::kMultiply, Arithmetic::kMultiply},
                                                                              {op::kDivide, Arithmetic::kDivide},
                                                                              {op::kModulo, Arithmetic::kModulo}};
    for (const auto& [name, operation] : kOperations) {
      if (name != e->name) continue;
      if (operation == Arithmetic::kAdd) {
        if (const Node* append = append_step(e)) return append;
      }
      return make<ArithmeticNode>(operation, by_size(e), lower(e->args[0]), lower(e->args[1]));
    }
    return nullptr;
  }

  const Node* append_step(const Expr* e) {
    const Expr* added = e->args[1];
    if (added->kind != ExprKind::kList || added->arg_count != 1 || added->optional != nullptr) return nullptr;
    const LocalNode* a = accumulator(e->args[0]);
    if (a == nullptr) return nullptr;
    const Node* element = lower(added->args[0]);
    // A list of constants only is one constant upstream, and free.
    return make<AppendNode>(a, element, element->constant() == nullptr ? 10 : 0);
  }

  const Node* insert(const Expr* e) {
    const LocalNode* a = accumulator(e->args[0]);
    if (a == nullptr) return program_error("unexpected map insertion");
    const Node* key = lower(e->args[1]);
    return make<InsertNode>(a, key, e->arg_count == 3 ? lower(e->args[2]) : nullptr);
  }

  const Node* membership(const Expr* e) {
    const Node* element = lower(e->args[0]);
    const Node* container = lower(e->args[1]);
    const Value* v = container->constant();
    if (v != nullptr && v->kind == Kind::kList && e->args[1]->kind == ExprKind::kList) {
      if (v->list->size == 0) return constant(Value::of_bool(false));
      if (const MapRep* set = constant_set(*v->list)) return make<InSetNode>(element, set);
    }
    return make<InNode>(by_size(e), element, container);
  }

  // The values of a constant list, with every number in each kind it converts to; null if a value is not a plain key.
  const MapRep* constant_set(const ListRep& list) {
    std::vector<Value> keys;
    for (uint32_t i = 0; i < list.size; ++i) {
      const Value& v = list.items[i];
      if (!is_plain_key(v)) return nullptr;
      keys.push_back(v);
      if (v.kind == Kind::kInt) {
        keys.push_back(Value::of_double(static_cast<double>(v.i)));
        if (v.i >= 0) keys.push_back(Value::of_uint(v.u));
      } else if (v.kind == Kind::kUint) {
        keys.push_back(Value::of_double(static_cast<double>(v.u)));
        if (v.u <= INT64_MAX) keys.push_back(Value::of_int(v.i));
      } else if (v.kind == Kind::kDouble && v.d == std::trunc(v.d)) {
        if (v.d >= -9223372036854775808.0 && v.d < 9223372036854775808.0) {
          keys.push_back(Value::of_int(static_cast<int64_t>(v.d)));
        }
        if (v.d >= 0 && v.d < 18446744073709551616.0) keys.push_back(Value::of_uint(static_cast<uint64_t>(v.d)));
      }
    }
    auto* entries = arena_.array<MapEntry>(keys.size());
    for (size_t i = 0; i < keys.size(); ++i) entries[i].key = keys[i];
    return make_map(arena_, entries, keys.size());
  }

  const Environment::Rep& env_;
  lib::RegexPool& patterns_;
  Program::Rep& program_;
  Arena& arena_;
  std::vector<const Node*> lowered_;
  std::vector<Scope> scopes_;
  uint32_t most_locals_ = 0;
  std::optional<LoweringError> error_;
};

}  // namespace

std::optional<LoweringError> lower(const Expr* root, const Environment::Rep& environment, uint32_t node_count,
                                   lib::RegexPool& patterns, Program::Rep& program) {
  return Lowering(environment, node_count, patterns, program).run(root);
}

}  // namespace dra::cel
