#include "pkg/cel/check/checker.h"

#include <string>
#include <vector>

#include "pkg/cel/check/type_inference.h"

namespace dra::cel {
namespace {

const Type* simple(TypeKind kind) {
  return simple_type(kind);
}

struct Local {
  std::string_view name;
  const Type* type;
};

class Checker {
 public:
  Checker(const Environment::Rep& env, AstBuilder& ast, Issues& issues)
      : env_(env), ast_(ast), issues_(issues), arena_(ast.arena()), types_(arena_) {}

  void run(Expr* root) {
    visit(root);
    for (Expr* e : typed_) e->type = types_.substitute(e->type, true);
    if (types_.exhausted()) {
      issues_.add(CompileCategory::kUnsupported, 0, "the types of this expression are too large to infer");
    }
  }

 private:
  void set_type(Expr* e, const Type* type) {
    if (type->size > TypeInference::kMaxTypeSize) {
      types_.give_up();
      type = simple(TypeKind::kDyn);
    }
    e->type = type;
    typed_.push_back(e);
  }
  const Type* resolved(const Type* type) { return types_.substitute(type, false); }

  void error(CompileCategory category, const Expr* at, std::string message) {
    issues_.add(category, at->offset, std::move(message));
  }
  void undeclared(const Expr* at, std::string_view name) {
    error(CompileCategory::kUndeclared, at,
          "undeclared reference to '" + std::string(name) + "' (in container '" + env_.container + "')");
  }
  void mismatch(const Expr* at, const Type* expected, const Type* found) {
    error(CompileCategory::kTypeMismatch, at,
          "expected type '" + checker_text(resolved(expected)) + "' but found '" + checker_text(resolved(found)) + "'");
  }

  void visit(Expr* e) {
    if (e->type != nullptr) return;  // shared by two parents
    switch (e->kind) {
      case ExprKind::kBad:
        set_type(e, simple(TypeKind::kError));
        break;
      case ExprKind::kConst:
        set_type(e, constant_type(e->constant));
        break;
      case ExprKind::kIdent:
        visit_ident(e);
        break;
      case ExprKind::kSelect:
        visit_select(e);
        break;
      case ExprKind::kCall:
        visit_call(e);
        break;
      case ExprKind::kList:
        visit_list(e);
        break;
      case ExprKind::kMap:
        visit_map(e);
        break;
      case ExprKind::kMessage:
        visit_message(e);
        break;
      case ExprKind::kComprehension:
        visit_fold(e);
        break;
    }
  }

  static const Type* constant_type(const Value& v) {
    switch (v.kind) {
      case Kind::kBool:
        return simple(TypeKind::kBool);
      case Kind::kInt:
        return simple(TypeKind::kInt);
      case Kind::kUint:
        return simple(TypeKind::kUint);
      case Kind::kDouble:
        return simple(TypeKind::kDouble);
      case Kind::kString:
        return simple(TypeKind::kString);
      case Kind::kBytes:
        return simple(TypeKind::kBytes);
      default:
        return simple(TypeKind::kNull);
    }
  }

  // The names a text may mean in the container: a.b.x, a.x, x.
  template <typename Try>
  bool resolve(std::string_view name, Try attempt) {
    if (!name.empty() && name[0] == '.') return attempt(name.substr(1));
    std::string_view container = env_.container;
    while (!container.empty()) {
      std::string_view candidate = arena_.copy(std::string(container) + "." + std::string(name));
      if (attempt(candidate)) return true;
      size_t dot = container.rfind('.');
      container = dot == std::string_view::npos ? std::string_view() : container.substr(0, dot);
    }
    return attempt(name);
  }

  // Looks a dotted name up as a variable or type and notes the finding in `e`.
  bool resolve_variable(Expr* e, std::string_view name) {
    // From 1.37 on a leading dot skips the names that macros introduce.
    bool skip_locals = name[0] == '.' && env_.options.release == Release::k137;
    return resolve(name, [&](std::string_view candidate) {
      const Type* type = nullptr;
      for (size_t i = locals_.size(); i > 0 && type == nullptr && !skip_locals; --i) {
        if (locals_[i - 1].name == candidate) type = locals_[i - 1].type;
      }
      if (type == nullptr) {
        if (const auto* variable = env_.find_variable(candidate)) type = variable->type;
      }
      if (type == nullptr) {
        bool exists = false;
        type = type_name_type(candidate, exists);
        e->is_type_name = type != nullptr;
      }
      if (type == nullptr) return false;
      e->variable = candidate;
      set_type(e, type);
      return true;
    });
  }

  void visit_ident(Expr* e) {
    if (resolve_variable(e, e->name)) return;
    undeclared(e, e->name);
    set_type(e, simple(TypeKind::kError));
  }

  void visit_select(Expr* e) {
    if (!e->test_only) {
      std::string_view name = qualified_name(e, arena_);
      if (!name.empty() && resolve_variable(e, name)) return;
    }
    const Type* type = field_type(e, e->target, e->name, false);
    set_type(e, e->test_only ? simple(TypeKind::kBool) : type);
  }

  const Type* field_type(Expr* e, Expr* operand, std::string_view field, bool optional) {
    visit(operand);
    const Type* target = resolved(operand->type);
    bool was_optional = target->is_optional();
    if (was_optional) target = target->param(0);
    const Type* result = simple(TypeKind::kError);
    switch (target->kind) {
      case TypeKind::kMap:
        result = target->param(1);
        break;
      case TypeKind::kObject:
        result = object_field(e, target, field);
        break;
      case TypeKind::kParam:
        types_.assignable(simple(TypeKind::kDyn), target);
        result = simple(TypeKind::kDyn);
        break;
      default:
        if (!target->is_dyn_or_error()) {
          error(CompileCategory::kFieldSelection, e,
                "type '" + checker_text(target) + "' does not support field selection");
        }
        result = simple(TypeKind::kDyn);
    }
    return was_optional || optional ? make_optional(arena_, result) : result;
  }

  const Type* object_field(const Expr* e, const Type* object, std::string_view field) {
    if (object->name != kDeviceType) {
      error(CompileCategory::kUnresolved, e, "unexpected failed resolution of '" + std::string(object->name) + "'");
      return simple(TypeKind::kError);
    }
    if (const Type* type = env_.device_field(field)) return type;
    error(CompileCategory::kUndefinedField, e, "undefined field '" + std::string(field) + "'");
    return simple(TypeKind::kError);
  }

  const std::vector<const Overload*>* find_function(std::string_view name, std::string_view& full_name) {
    const std::vector<const Overload*>* found = nullptr;
    resolve(name, [&](std::string_view candidate) {
      found = env_.find_function(candidate);
      if (found != nullptr) full_name = candidate;
      return found != nullptr;
    });
    return found;
  }

  void visit_call(Expr* e) {
    if (e->name == op::kOptSelect) {
      set_type(e, field_type(e, e->args[0], e->args[1]->constant.str(), true));
      visit(e->args[1]);
      return;
    }
    for (uint32_t i = 0; i < e->arg_count; ++i) visit(e->args[i]);
    const std::vector<const Overload*>* functions = nullptr;
    if (e->target != nullptr) {
      // a.b.f(x) is the function a.b.f before it is f with the receiver a.b.
      std::string_view prefix = qualified_name(e->target, arena_);
      std::string_view full_name;
      if (!prefix.empty()) {
        functions = find_function(arena_.copy(std::string(prefix) + "." + std::string(e->name)), full_name);
      }
      if (functions != nullptr) {
        e->target = nullptr;
        e->name = full_name;
      } else {
        visit(e->target);
        functions = find_function(e->name, full_name);
      }
    } else {
      std::string_view full_name;
      functions = find_function(e->name, full_name);
      if (functions != nullptr) e->name = full_name;
    }
    if (functions == nullptr) {
      undeclared(e, e->name);
      set_type(e, simple(TypeKind::kError));
      return;
    }
    set_type(e, is_logical(e) ? logical_type(e, *functions) : overload_type(e, *functions));
  }

  static bool is_logical(const Expr* e) { return e->name == op::kAnd || e->name == op::kOr; }

  void keep_overloads(Expr* e, const std::vector<const Overload*>& matches) {
    e->overloads = static_cast<const Overload**>(
        arena_.allocate(sizeof(Overload*) * (matches.size() + 1), alignof(const Overload*)));
    std::copy(matches.begin(), matches.end(), e->overloads);
    e->overload_count = static_cast<uint32_t>(matches.size());
  }

  const Type* logical_type(Expr* e, const std::vector<const Overload*>& functions) {
    const Type* result = simple(TypeKind::kBool);
    for (uint32_t i = 0; i < e->arg_count; ++i) {
      if (types_.assignable(e->args[i]->type, simple(TypeKind::kBool))) continue;
      mismatch(e->args[i], simple(TypeKind::kBool), e->args[i]->type);
      result = simple(TypeKind::kError);
    }
    keep_overloads(e, functions);
    return result;
  }

  const Type* overload_type(Expr* e, const std::vector<const Overload*>& functions) {
    std::vector<const Type*> args;
    if (e->target != nullptr) args.push_back(e->target->type);
    for (uint32_t i = 0; i < e->arg_count; ++i) args.push_back(e->args[i]->type);
    std::vector<const Overload*> matches;
    const Type* result = nullptr;
    for (const Overload* o : functions) {
      if (o->receiver != (e->target != nullptr) || o->params.size() != args.size()) continue;
      const Type* type = types_.match(*o, args);
      if (type == nullptr) continue;
      matches.push_back(o);
      if (result == nullptr) {
        result = type;
      } else if (!result->is_dyn() && !same_type(result, type)) {
        result = simple(TypeKind::kDyn);
      }
    }
    keep_overloads(e, matches);
    if (result != nullptr) return result;
    error(CompileCategory::kNoMatchingOverload, e,
          "found no matching overload for '" + std::string(e->name) + "' applied to '" + signature(e, args) + "'");
    return simple(TypeKind::kError);
  }

  std::string signature(const Expr* e, const std::vector<const Type*>& args) {
    std::string out;
    size_t first = 0;
    if (e->target != nullptr) {
      out = checker_text(types_.substitute(args[0], true)) + ".";
      first = 1;
    }
    out += "(";
    for (size_t i = first; i < args.size(); ++i) {
      if (i > first) out += ", ";
      out += checker_text(types_.substitute(args[i], true));
    }
    return out + ")";
  }

  // The type of an element or value, without the optional it was written with ('?').
  const Type* part_type(const Expr* e, bool optional) {
    if (!optional) return e->type;
    const Type* type = resolved(e->type);
    if (type->is_optional()) return type->param(0);
    if (!type->is_dyn()) mismatch(e, make_optional(arena_, type), type);
    return type;
  }

  const Type* join(const Type* previous, const Type* current) {
    if (previous == nullptr) return current;
    return types_.assignable(previous, current) ? types_.more_general(previous, current) : simple(TypeKind::kDyn);
  }

  void visit_list(Expr* e) {
    const Type* element = nullptr;
    for (uint32_t i = 0; i < e->arg_count; ++i) {
      visit(e->args[i]);
      element = join(element, part_type(e->args[i], e->is_optional_at(i)));
    }
    set_type(e, make_list(arena_, element == nullptr ? types_.fresh() : element));
  }

  void visit_map(Expr* e) {
    const Type* key = nullptr;
    const Type* value = nullptr;
    for (uint32_t i = 0; i < e->entry_count(); ++i) {
      visit(e->args[2 * i]);
      key = join(key, e->args[2 * i]->type);
      visit(e->args[2 * i + 1]);
      value = join(value, part_type(e->args[2 * i + 1], e->is_optional_at(i)));
    }
    if (key == nullptr) {
      key = types_.fresh();
      value = types_.fresh();
    }
    set_type(e, make_map_type(arena_, key, value));
  }

  void visit_message(Expr* e) {
    for (uint32_t i = 0; i < e->arg_count; ++i) visit(e->args[i]);
    set_type(e, simple(TypeKind::kError));
    bool exists = false;
    if (e->name == kDeviceType && env_.device_field("driver") != nullptr) {
      visit_device_literal(e);
    } else if (is_message_type(e->name)) {
      error(CompileCategory::kUnsupported, e,
            "message literals (" + std::string(e->name) + "{...}) are not supported; write the plain value instead");
    } else if (type_name_type(e->name, exists) != nullptr) {
      error(CompileCategory::kUndeclared, e, "'" + std::string(e->name) + "' is not a message type");
    } else {
      undeclared(e, e->name);
    }
  }

  // A device that the expression makes itself: checked, though no evaluation ever succeeds in making one.
  void visit_device_literal(Expr* e) {
    for (uint32_t i = 0; i < e->arg_count; ++i) {
      const std::string field(e->fields[i]);
      const Type* declared = env_.device_field(field);
      const Type* found = resolved(part_type(e->args[i], e->is_optional_at(i)));
      if (declared == nullptr) {
        issues_.add(CompileCategory::kUndefinedField, e->field_offsets[i], "undefined field '" + field + "'");
      } else if (!types_.assignable(found, declared)) {
        issues_.add(CompileCategory::kTypeMismatch, e->field_offsets[i],
                    "expected type of field '" + field + "' is '" + checker_text(declared) +
                        "' but provided type is '" + checker_text(found) + "'");
      }
    }
    set_type(e, env_.find_variable(kDeviceVariable)->type);
  }

  void visit_fold(Expr* e) {
    Comprehension& fold = *e->fold;
    visit(fold.range);
    visit(fold.init);
    const Type* range = resolved(fold.range->type);
    const Type* accumulator = fold.init->type;
    size_t scope = locals_.size();
    locals_.push_back({fold.accu_var, accumulator});
    const Type* first = nullptr;
    const Type* second = nullptr;
    iteration_types(fold, range, first, second);
    locals_.push_back({fold.iter_var, first});
    if (!fold.iter_var2.empty()) locals_.push_back({fold.iter_var2, second});
    visit(fold.condition);
    assert_type(fold.condition, simple(TypeKind::kBool));
    visit(fold.step);
    assert_type(fold.step, accumulator);
    locals_.resize(scope + 1);
    visit(fold.result);
    locals_.resize(scope);
    set_type(e, resolved(fold.result->type));
  }

  void assert_type(const Expr* e, const Type* expected) {
    if (!types_.assignable(e->type, expected)) mismatch(e, expected, e->type);
  }

  void iteration_types(const Comprehension& fold, const Type* range, const Type*& first, const Type*& second) {
    switch (range->kind) {
      case TypeKind::kList:
        first = second = range->param(0);
        if (!fold.iter_var2.empty()) first = simple(TypeKind::kInt);
        return;
      case TypeKind::kMap:
        first = range->param(0);
        second = range->param(1);
        return;
      case TypeKind::kDyn:
      case TypeKind::kError:
      case TypeKind::kParam:
        types_.assignable(simple(TypeKind::kDyn), range);
        first = second = simple(TypeKind::kDyn);
        return;
      default:
        error(CompileCategory::kComprehensionRange, fold.range,
              "expression of type '" + checker_text(range) +
                  "' cannot be range of a comprehension (must be list, map, or dynamic)");
        first = second = simple(TypeKind::kError);
    }
  }

  const Environment::Rep& env_;
  AstBuilder& ast_;
  Issues& issues_;
  Arena& arena_;
  TypeInference types_;
  std::vector<Local> locals_;
  std::vector<Expr*> typed_;
};

}  // namespace

void check(Expr* root, const Environment::Rep& environment, AstBuilder& ast, Issues& issues) {
  Checker(environment, ast, issues).run(root);
}

}  // namespace dra::cel
