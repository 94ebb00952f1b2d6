// How much a pod may ask of scheduling rules. Each node is compared with every term of a pod, so a pod with thousands
// of them would take the decisions of all others a second, and a megabyte of memory; its own reason says what is too
// much.
#pragma once

#include <cstddef>

#include "pkg/api/core.h"
#include "pkg/base/error.h"

namespace dra::api {

// Terms, requirements, values, constraints and tolerations, together. Pods of operators that name every node of a
// large cluster have fewer.
inline constexpr size_t kMaxSchedulingParts = 4096;
// What a term of pod affinity and a spread constraint count: each is compared with groups of pods on each node.
inline constexpr size_t kPartsOfAPodTerm = 16;

// Of the pod as it was decoded, also where it was too much to be kept.
size_t scheduling_parts(const Pod& pod);
// Clears the scheduling rules of a pod that has more than kMaxSchedulingParts, and notes their number.
void drop_beyond_bounds(Pod& pod);
// kResourceExhausted, with the number and the limit, where the pod has more.
Result<void> check_bounds(const Pod& pod);

}  // namespace dra::api
