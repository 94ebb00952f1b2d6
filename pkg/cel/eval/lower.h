// From checked tree to evaluation tree: names become slots, constants are folded, macros' loops get nodes of their own.
// Internal to pkg/cel.
#pragma once

#include <optional>

#include "pkg/cel/check/environment_rep.h"
#include "pkg/cel/eval/program_rep.h"
#include "pkg/cel/lib/regex.h"
#include "pkg/cel/syntax/ast.h"

namespace dra::cel {

// Fills in `program.nodes`, `root` and `locals`.
std::optional<LoweringError> lower(const Expr* root, const Environment::Rep& environment, uint32_t node_count,
                                   lib::RegexPool& patterns, Program::Rep& program);

// What the expression can read of a device.
Reads find_reads(const Expr* root, uint32_t node_count);

}  // namespace dra::cel
