// The type checker (cel-spec "Gradual Type Checking", cel-go checker/checker.go) and the validators that run behind it
// (cel-go cel/validator.go, ext/formatting.go).
#pragma once

#include "pkg/cel/check/environment_rep.h"
#include "pkg/cel/lib/regex.h"
#include "pkg/cel/syntax/ast.h"
#include "pkg/cel/syntax/source.h"

namespace dra::cel {

// Fills in the checker's part of every node. The tree must have no kBad nodes.
void check(Expr* root, const Environment::Rep& environment, AstBuilder& ast, Issues& issues);

// Literal arguments of duration(), timestamp(), matches() and format(); homogeneous lists and maps. Call after check()
// without issues.
void validate(Expr* root, const Environment::Rep& environment, lib::RegexPool& patterns, Issues& issues);

// The nodes an expression is directly made of, in the order they are written.
template <typename Visit>
void for_each_child(const Expr* e, Visit visit) {
  if (e->target != nullptr) visit(e->target);
  for (uint32_t i = 0; i < e->arg_count; ++i) visit(e->args[i]);
  if (e->fold != nullptr) {
    visit(e->fold->range);
    visit(e->fold->init);
    visit(e->fold->condition);
    visit(e->fold->step);
    visit(e->fold->result);
  }
}

}  // namespace dra::cel
