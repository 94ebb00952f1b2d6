// Macros: calls that the parser replaces by other expressions (cel-go parser/macro.go, ext/comprehensions.go,
// ext/bindings.go, ext/lists.go, cel/library.go).
#pragma once

#include <string_view>
#include <vector>

#include "pkg/cel/syntax/ast.h"
#include "pkg/cel/syntax/source.h"

namespace dra::cel {

// The expansion of a call, or null when it is an ordinary one. Bad arguments become issues and a kBad node.
// `target` is null for calls without receiver.
Expr* expand_macro(AstBuilder& ast, Issues& issues, int32_t offset, std::string_view name, Expr* target,
                   const std::vector<Expr*>& args);

}  // namespace dra::cel
