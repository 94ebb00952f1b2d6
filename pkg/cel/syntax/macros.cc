#include "pkg/cel/syntax/macros.h"

#include <string>

namespace dra::cel {
namespace {

struct MacroCall {
  AstBuilder& ast;
  Issues& issues;
  int32_t offset;
  Expr* target;
  const std::vector<Expr*>& args;

  Expr* error(const Expr* at, std::string message) const {
    issues.add(CompileCategory::kMacro, at->offset, std::move(message));
    return ast.node(ExprKind::kBad, offset);
  }
  Expr* accumulator() const { return ast.ident(offset, kAccumulator); }
  Expr* boolean(bool b) const { return ast.constant(offset, Value::of_bool(b)); }
  Expr* call(std::string_view function, std::initializer_list<Expr*> arguments, Expr* receiver = nullptr) const {
    return ast.call(offset, function, arguments, receiver);
  }
};

bool is_plain_ident(const Expr* e) {
  return e->kind == ExprKind::kIdent && !e->leading_dot;
}

bool names_accumulator(std::string_view name) {
  return name == kAccumulator || name == "__result__";
}

// The iteration variables of a macro: args[0], and args[1] in the two-variable form. False: an issue was added.
bool iteration_variables(const MacroCall& m, size_t count, std::string_view problem, Comprehension& fold) {
  for (size_t i = 0; i < count; ++i) {
    if (!is_plain_ident(m.args[i])) {
      m.error(m.args[i], std::string(problem));
      return false;
    }
  }
  if (count == 2 && m.args[0]->name == m.args[1]->name) {
    m.error(m.args[1], "duplicate variable name: " + std::string(m.args[1]->name));
    return false;
  }
  for (size_t i = 0; i < count; ++i) {
    if (names_accumulator(m.args[i]->name)) {
      m.error(m.args[i], "iteration variable overwrites accumulator variable");
      return false;
    }
  }
  fold.iter_var = m.args[0]->name;
  if (count == 2) fold.iter_var2 = m.args[1]->name;
  return true;
}

Expr* bad(const MacroCall& m) {
  return m.ast.node(ExprKind::kBad, m.offset);
}

Expr* expand_has(const MacroCall& m) {
  const Expr* arg = m.args[0];
  if (arg->kind != ExprKind::kSelect || arg->test_only) return m.error(arg, "invalid argument to has() macro");
  return m.ast.select(m.offset, arg->target, arg->name, true);
}

enum class Quantifier { kAll, kExists, kExistsOne };

Expr* expand_quantifier(const MacroCall& m, Quantifier kind, size_t variables) {
  Comprehension fold;
  if (!iteration_variables(m, variables, "argument must be a simple name", fold)) return bad(m);
  Expr* predicate = m.args[variables];
  fold.range = m.target;
  fold.accu_var = kAccumulator;
  switch (kind) {
    case Quantifier::kAll:
      fold.init = m.boolean(true);
      fold.condition = m.call(op::kNotStrictlyFalse, {m.accumulator()});
      fold.step = m.call(op::kAnd, {m.accumulator(), predicate});
      fold.result = m.accumulator();
      break;
    case Quantifier::kExists:
      fold.init = m.boolean(false);
      fold.condition = m.call(op::kNotStrictlyFalse, {m.call(op::kNot, {m.accumulator()})});
      fold.step = m.call(op::kOr, {m.accumulator(), predicate});
      fold.result = m.accumulator();
      break;
    case Quantifier::kExistsOne:
      fold.init = m.ast.constant(m.offset, Value::of_int(0));
      fold.condition = m.boolean(true);
      fold.step = m.call(op::kConditional,
                         {predicate, m.call(op::kAdd, {m.accumulator(), m.ast.constant(m.offset, Value::of_int(1))}),
                          m.accumulator()});
      fold.result = m.call(op::kEquals, {m.accumulator(), m.ast.constant(m.offset, Value::of_int(1))});
      break;
  }
  return m.ast.fold(m.offset, fold);
}

// map, filter, transformList, transformMap, transformMapEntry: a step per element that an optional filter guards.
Expr* collect(const MacroCall& m, Comprehension fold, Expr* init, Expr* step, Expr* filter) {
  fold.range = m.target;
  fold.accu_var = kAccumulator;
  fold.init = init;
  fold.condition = m.boolean(true);
  fold.step = filter == nullptr ? step : m.call(op::kConditional, {filter, step, m.accumulator()});
  fold.result = m.accumulator();
  return m.ast.fold(m.offset, fold);
}

Expr* append_step(const MacroCall& m, Expr* element) {
  return m.call(op::kAdd, {m.accumulator(), m.ast.list(m.offset, {element})});
}

Expr* expand_map(const MacroCall& m) {
  Comprehension fold;
  if (!iteration_variables(m, 1, "argument is not an identifier", fold)) return bad(m);
  Expr* filter = m.args.size() == 3 ? m.args[1] : nullptr;
  return collect(m, fold, m.ast.list(m.offset), append_step(m, m.args.back()), filter);
}

Expr* expand_filter(const MacroCall& m) {
  Comprehension fold;
  if (!iteration_variables(m, 1, "argument is not an identifier", fold)) return bad(m);
  return collect(m, fold, m.ast.list(m.offset), append_step(m, m.args[0]), m.args[1]);
}

Expr* expand_transform(const MacroCall& m, std::string_view name) {
  Comprehension fold;
  if (!iteration_variables(m, 2, "argument must be a simple name", fold)) return bad(m);
  Expr* filter = m.args.size() == 4 ? m.args[2] : nullptr;
  Expr* body = m.args.back();
  if (name == "transformList") return collect(m, fold, m.ast.list(m.offset), append_step(m, body), filter);
  Expr* step = name == "transformMap"
                   ? m.call(op::kMapInsert, {m.accumulator(), m.ast.ident(m.args[0]->offset, fold.iter_var), body})
                   : m.call(op::kMapInsert, {m.accumulator(), body});
  return collect(m, fold, m.ast.map(m.offset), step, filter);
}

Expr* bind(const MacroCall& m, std::string_view variable, Expr* init, Expr* result) {
  Comprehension fold;
  fold.range = m.ast.list(m.offset);
  fold.iter_var = kUnusedVariable;
  fold.accu_var = variable;
  fold.init = init;
  fold.condition = m.boolean(false);
  fold.step = m.ast.ident(m.offset, variable);
  fold.result = result;
  return m.ast.fold(m.offset, fold);
}

Expr* expand_bind(const MacroCall& m) {
  if (!is_plain_ident(m.args[0])) {
    return m.error(m.args[0], "cel.bind() variable names must be simple identifiers");
  }
  return bind(m, m.args[0]->name, m.args[1], m.args[2]);
}

Expr* expand_opt_map(const MacroCall& m, std::string_view name) {
  if (!is_plain_ident(m.args[0])) {
    return m.error(m.args[0], std::string(name) + "() variable name must be a simple identifier");
  }
  Expr* mapped = bind(m, m.args[0]->name, m.call("value", {}, m.target), m.args[1]);
  if (name == "optMap") mapped = m.call("optional.of", {mapped});
  return m.call(op::kConditional, {m.call("hasValue", {}, m.target), mapped, m.call("optional.none", {})});
}

Expr* expand_sort_by(const MacroCall& m) {
  switch (m.target->kind) {
    case ExprKind::kList:
    case ExprKind::kSelect:
    case ExprKind::kIdent:
    case ExprKind::kComprehension:
    case ExprKind::kCall:
      break;
    default:
      return m.error(m.target,
                     "sortBy can only be applied to a list, identifier, comprehension, call or select expression");
  }
  static constexpr std::string_view kInput = "@__sortBy_input__";
  MacroCall keys{m.ast, m.issues, m.offset, m.ast.ident(m.offset, kInput), m.args};
  Expr* mapped = expand_map(keys);
  if (mapped->kind == ExprKind::kBad) return mapped;
  return bind(m, kInput, m.target, m.call(op::kSortByKeys, {mapped}, m.ast.ident(m.offset, kInput)));
}

Expr* expand_receiver(const MacroCall& m, std::string_view name) {
  size_t n = m.args.size();
  if (n == 2) {
    if (name == "all") return expand_quantifier(m, Quantifier::kAll, 1);
    if (name == "exists") return expand_quantifier(m, Quantifier::kExists, 1);
    if (name == "exists_one") return expand_quantifier(m, Quantifier::kExistsOne, 1);
    if (name == "map") return expand_map(m);
    if (name == "filter") return expand_filter(m);
    if (name == "optMap" || name == "optFlatMap") return expand_opt_map(m, name);
    if (name == "sortBy") return expand_sort_by(m);
  } else if (n == 3) {
    if (name == "all") return expand_quantifier(m, Quantifier::kAll, 2);
    if (name == "exists") return expand_quantifier(m, Quantifier::kExists, 2);
    if (name == "exists_one" || name == "existsOne") return expand_quantifier(m, Quantifier::kExistsOne, 2);
    if (name == "map") return expand_map(m);
    if (name == "bind" && m.target->kind == ExprKind::kIdent && m.target->name == "cel" && !m.target->leading_dot) {
      return expand_bind(m);
    }
  }
  if ((n == 3 || n == 4) && (name == "transformList" || name == "transformMap" || name == "transformMapEntry")) {
    return expand_transform(m, name);
  }
  return nullptr;
}

}  // namespace

Expr* expand_macro(AstBuilder& ast, Issues& issues, int32_t offset, std::string_view name, Expr* target,
                   const std::vector<Expr*>& args) {
  MacroCall m{ast, issues, offset, target, args};
  if (target == nullptr) return name == "has" && args.size() == 1 ? expand_has(m) : nullptr;
  return expand_receiver(m, name);
}

}  // namespace dra::cel
