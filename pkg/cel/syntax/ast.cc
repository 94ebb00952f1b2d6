#include "pkg/cel/syntax/ast.h"

#include <string>
#include <vector>

namespace dra::cel {

Expr* AstBuilder::node(ExprKind kind, int32_t offset) {
  Expr* e = arena_.make<Expr>();
  e->kind = kind;
  e->offset = offset;
  e->id = next_id_++;
  return e;
}

Expr** AstBuilder::copy(Expr* const* items, size_t count) {
  if (count == 0) return nullptr;
  Expr** out = arena_.array<Expr*>(count);
  for (size_t i = 0; i < count; ++i) out[i] = items[i];
  return out;
}

Expr* AstBuilder::constant(int32_t offset, Value value) {
  Expr* e = node(ExprKind::kConst, offset);
  e->constant = value;
  return e;
}

Expr* AstBuilder::ident(int32_t offset, std::string_view name) {
  Expr* e = node(ExprKind::kIdent, offset);
  e->name = name;
  return e;
}

Expr* AstBuilder::select(int32_t offset, Expr* operand, std::string_view field, bool test_only) {
  Expr* e = node(ExprKind::kSelect, offset);
  e->target = operand;
  e->name = field;
  e->test_only = test_only;
  return e;
}

Expr* AstBuilder::call(int32_t offset, std::string_view function, std::initializer_list<Expr*> args, Expr* target) {
  return call(offset, function, args.begin(), args.size(), target);
}

Expr* AstBuilder::call(int32_t offset, std::string_view function, Expr* const* args, size_t count, Expr* target) {
  Expr* e = node(ExprKind::kCall, offset);
  e->name = function;
  e->target = target;
  e->args = copy(args, count);
  e->arg_count = static_cast<uint32_t>(count);
  return e;
}

Expr* AstBuilder::list(int32_t offset, std::initializer_list<Expr*> elements) {
  Expr* e = node(ExprKind::kList, offset);
  e->args = copy(elements.begin(), elements.size());
  e->arg_count = static_cast<uint32_t>(elements.size());
  return e;
}

Expr* AstBuilder::map(int32_t offset) {
  return node(ExprKind::kMap, offset);
}

Expr* AstBuilder::fold(int32_t offset, const Comprehension& fold) {
  Expr* e = node(ExprKind::kComprehension, offset);
  e->fold = arena_.make<Comprehension>(fold);
  return e;
}

std::string_view qualified_name(const Expr* e, Arena& arena) {
  if (e->kind == ExprKind::kIdent) return e->name;
  std::vector<const Expr*> parts;
  while (e->kind == ExprKind::kSelect && !e->test_only) {
    parts.push_back(e);
    e = e->target;
  }
  if (e->kind != ExprKind::kIdent) return {};
  std::string name(e->name);
  for (auto it = parts.rbegin(); it != parts.rend(); ++it) {
    name += '.';
    name += (*it)->name;
  }
  return arena.copy(name);
}

}  // namespace dra::cel
