// How much a pod may ask of scheduling rules. Each node is compared with every term of a pod, so a pod with thousands
// of them would take the decisions of all others a second; its own reason says what is too much.
#pragma once

#include <cstddef>

#include "pkg/api/core.h"
#include "pkg/base/error.h"

namespace dra::placement {

// Terms, requirements, values, constraints and tolerations, together. Pods of operators that name every node of a
// large cluster have fewer.
inline constexpr size_t kMaxSchedulingParts = 4096;

size_t scheduling_parts(const api::Pod& pod);
// kResourceExhausted, with the number and the limit, where the pod has more.
Result<void> check_bounds(const api::Pod& pod);

}  // namespace dra::placement
