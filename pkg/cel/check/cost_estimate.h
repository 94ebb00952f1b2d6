// The API server's estimate of what an expression can cost (cel-go checker/cost.go, ext/{sets,lists}.go,
// k8s.io/apiserver/pkg/cel/library/cost.go, k8s.io/dynamic-resource-allocation/cel).
#pragma once

#include <cstdint>

#include "pkg/cel/check/environment_rep.h"
#include "pkg/cel/syntax/ast.h"

namespace dra::cel {

// The upper end, in cost units, saturating at 2^64 - 1. `root` must be checked.
uint64_t estimate_cost(const Expr* root, const Environment::Rep& environment, uint32_t node_count);

}  // namespace dra::cel
