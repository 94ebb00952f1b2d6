// From text to syntax tree (cel-spec "Syntax", cel-go parser). Recursive descent; macros are expanded on the way.
#pragma once

#include <string_view>

#include "pkg/cel/syntax/ast.h"
#include "pkg/cel/syntax/source.h"

namespace dra::cel {

// Limits of cel-go's parser as Kubernetes configures it.
inline constexpr int kMaxNesting = 250;
inline constexpr size_t kMaxCodePoints = 100'000;

struct ParseOptions {
  bool escaped_identifiers = false;  // a.`b-c` (1.37)
};

// `source` must be valid UTF-8 and outlive the tree. Null or a tree with kBad nodes when issues were added.
Expr* parse(std::string_view source, const ParseOptions& options, AstBuilder& ast, Issues& issues);

}  // namespace dra::cel
