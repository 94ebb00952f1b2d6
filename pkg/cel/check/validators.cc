// The checks behind the type checker: cel-go cel/validator.go, ext/formatting.go.
#include <algorithm>

#include "pkg/cel/check/checker.h"
#include "pkg/cel/lib/regex.h"
#include "pkg/cel/lib/time.h"
#include "pkg/cel/value/format.h"

namespace dra::cel {
namespace {

class Validators {
 public:
  Validators(const Environment::Rep& env, lib::RegexPool& patterns, Issues& issues)
      : env_(env), patterns_(patterns), issues_(issues) {}

  void run(Expr* root) {
    std::vector<Expr*> todo{root};
    // Children of format() calls are marked before they are visited.
    while (!todo.empty()) {
      Expr* e = todo.back();
      todo.pop_back();
      if (e->id < seen_.size() && seen_[e->id]) continue;
      if (e->id >= seen_.size()) seen_.resize(e->id + 1);
      seen_[e->id] = true;
      order_.push_back(e);
      for_each_child(e, [&](Expr* child) {
        child->in_format_args = child->in_format_args || e->in_format_args || e->is_call("format");
        todo.push_back(child);
      });
    }
    for (Expr* e : order_) {
      if (e->kind == ExprKind::kCall) validate_call(e);
      if (e->kind == ExprKind::kList) validate_list(e);
      if (e->kind == ExprKind::kMap) validate_map(e);
    }
  }

 private:
  void validate_call(const Expr* e) {
    if (e->arg_count == 0) return;
    if (e->name == "format") {
      validate_format(e);
      return;
    }
    const Expr* arg = e->args[0];
    if (arg->kind != ExprKind::kConst) return;
    const Value& v = arg->constant;
    bool valid = true;
    if (e->name == "duration") {
      valid = v.kind == Kind::kString && lib::parse_duration(v.str()).has_value();
    } else if (e->name == "timestamp") {
      valid = (v.kind == Kind::kString && lib::parse_timestamp(v.str()).has_value()) ||
              (v.kind == Kind::kInt && v.i >= lib::kMinTimestampSeconds && v.i <= lib::kMaxTimestampSeconds);
    } else if (e->name == "matches") {
      valid = v.kind != Kind::kString || patterns_.compile(v.str()).has_value();
    }
    if (!valid) {
      std::string text = "invalid " + std::string(e->name) + " argument";
      // Upstream has no such limit, so these words are ours.
      if (e->name == "matches" && patterns_.exhausted()) text += ": too many or too large regular expressions";
      issues_.add(CompileCategory::kLiteralValidator, arg->offset, std::move(text));
    }
  }

  void mismatch(const Expr* at, const Type* expected, const Type* found) {
    issues_.add(CompileCategory::kTypeMismatch, at->offset,
                "expected type '" + checker_text(expected) + "' but found '" + checker_text(found) + "'");
  }

  // The type of an element that may be written with '?'; null where upstream's validator crashes.
  const Type* part_type(const Expr* e, bool optional) {
    if (!optional) return e->type;
    if (e->type->param_count > 0) return e->type->param(0);
    issues_.add(CompileCategory::kPanic, e->offset,
                "an optional element ('?') needs a value of type optional_type, not '" + checker_text(e->type) + "'");
    return nullptr;
  }

  void validate_list(const Expr* e) {
    if (e->in_format_args) return;
    const Type* first = nullptr;
    for (uint32_t i = 0; i < e->arg_count; ++i) {
      const Type* type = part_type(e->args[i], e->is_optional_at(i));
      if (type == nullptr) return;
      if (first == nullptr) {
        first = type;
      } else if (!same_type(first, type)) {
        mismatch(e->args[i], first, type);
        return;
      }
    }
  }

  void validate_map(const Expr* e) {
    if (e->in_format_args) return;
    const Type* first_key = nullptr;
    const Type* first_value = nullptr;
    for (uint32_t i = 0; i < e->entry_count(); ++i) {
      const Type* key = e->args[2 * i]->type;
      const Type* value = part_type(e->args[2 * i + 1], e->is_optional_at(i));
      if (value == nullptr) return;
      if (first_key == nullptr) {
        first_key = key;
        first_value = value;
        continue;
      }
      if (!same_type(first_key, key)) mismatch(e->args[2 * i], first_key, key);
      if (!same_type(first_value, value)) mismatch(e->args[2 * i + 1], first_value, value);
      if (!same_type(first_key, key) || !same_type(first_value, value)) return;
    }
  }

  void format_issue(const Expr* at, std::string message) {
    issues_.add(CompileCategory::kFormatValidator, at->offset, std::move(message));
  }

  void validate_format(const Expr* e) {
    const Expr* text = e->target;
    const Expr* list = e->args[0];
    if (text == nullptr || text->kind != ExprKind::kConst || text->constant.kind != Kind::kString ||
        list->kind != ExprKind::kList) {
      return;
    }
    auto verbs = lib::format_verbs(text->constant.str());
    if (!verbs) {
      format_issue(e, verbs.error().message);
      return;
    }
    for (size_t i = 0; i < verbs->size() && i < list->arg_count; ++i) {
      const Expr* bad = unsuitable((*verbs)[i], list->args[i]);
      if (bad == nullptr) continue;
      format_issue(bad, lib::format_type_error((*verbs)[i], format_type_name(bad->type)));
      return;
    }
    std::string problem = lib::check_format_arguments(verbs->size(), list->arg_count);
    if (!problem.empty()) format_issue(e, problem);
  }

  static std::string format_type_name(const Type* type) {
    if (type->kind == TypeKind::kList) return "list";
    if (type->kind == TypeKind::kMap) return "map";
    if (type->kind == TypeKind::kType) return "type";
    return type->kind == TypeKind::kOpaque ? std::string(type->name) : runtime_text(type);
  }

  static bool one_of(const Type* type, std::initializer_list<TypeKind> kinds) {
    return type->kind == TypeKind::kDyn || std::find(kinds.begin(), kinds.end(), type->kind) != kinds.end();
  }

  // The part of an argument that its verb cannot take, or null.
  static const Expr* unsuitable(char verb, const Expr* arg) {
    bool fits = false;
    switch (verb) {
      case 's':
        return unprintable(arg);
      case 'd':
      case 'o':
        fits = one_of(arg->type, {TypeKind::kInt, TypeKind::kUint});
        break;
      case 'b':
        fits = one_of(arg->type, {TypeKind::kInt, TypeKind::kUint, TypeKind::kBool});
        break;
      case 'x':
      case 'X':
        fits = one_of(arg->type, {TypeKind::kInt, TypeKind::kUint, TypeKind::kString, TypeKind::kBytes});
        break;
      default:
        fits = one_of(arg->type, {TypeKind::kDouble, TypeKind::kString});
    }
    return fits ? nullptr : arg;
  }

  static const Expr* unprintable(const Expr* e) {
    if (!one_of(e->type, {TypeKind::kList, TypeKind::kMap, TypeKind::kInt, TypeKind::kUint, TypeKind::kDouble,
                          TypeKind::kBool, TypeKind::kString, TypeKind::kTimestamp, TypeKind::kBytes,
                          TypeKind::kDuration, TypeKind::kType, TypeKind::kNull})) {
      return e;
    }
    if (e->kind != ExprKind::kList && e->kind != ExprKind::kMap) return nullptr;
    for (uint32_t i = 0; i < e->arg_count; ++i) {
      if (const Expr* bad = unprintable(e->args[i])) return bad;
    }
    return nullptr;
  }

  const Environment::Rep& env_;
  lib::RegexPool& patterns_;
  Issues& issues_;
  std::vector<bool> seen_;
  std::vector<Expr*> order_;
};

}  // namespace

void validate(Expr* root, const Environment::Rep& environment, lib::RegexPool& patterns, Issues& issues) {
  Validators(environment, patterns, issues).run(root);
}

}  // namespace dra::cel
