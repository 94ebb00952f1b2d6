// How many scheduling rules a pod may have. Every node is compared with every term of a pod, so a pod with thousands of
// terms would delay the decisions of all other pods by a second and take a megabyte of memory. Such a pod is refused
// with a reason that says what is too much.
#pragma once

#include <cstddef>

#include "pkg/api/core.h"
#include "pkg/base/error.h"

namespace dra::api {

// Terms, requirements, values, constraints and tolerations, together. Pods of operators that name every node of a
// large cluster have fewer.
inline constexpr size_t kMaxSchedulingParts = 4096;
// What one term of pod affinity or one spread constraint counts as: each is compared with groups of pods on each node.
inline constexpr size_t kPartsOfAPodTerm = 16;

// Counts the rules of the pod as it was decoded, even if drop_beyond_bounds() has cleared them.
size_t scheduling_parts(const Pod& pod);
// Clears the scheduling rules of a pod that has more than kMaxSchedulingParts, and records their number.
void drop_beyond_bounds(Pod& pod);
// Fails with kResourceExhausted, the number and the limit, if the pod has more.
Result<void> check_bounds(const Pod& pod);

}  // namespace dra::api
