// Outcome: what the functions of the library return. A Failure is what an evaluation ends with when nothing absorbs it:
// its category, and upstream's text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <tl/expected.hpp>
#include <utility>

#include "pkg/cel/lib/errors.h"

namespace dra::cel::lib {

struct Failure {
  RuntimeCategory category;
  std::string message;
};

template <typename T>
using Outcome = tl::expected<T, Failure>;

// What one call may still use: bytes of its result, and steps (EvalContext::kMaxWork says what a step is). Functions
// whose work neither their arguments' lengths nor their cost reflect take steps before they work.
struct Budget {
  size_t bytes = SIZE_MAX;
  uint64_t steps = UINT64_MAX;

  // False: the remaining budget does not suffice; it is used up then.
  bool take(uint64_t wanted) {
    const bool enough = wanted <= steps;
    steps = enough ? steps - wanted : 0;
    return enough;
  }
};

inline tl::unexpected<Failure> failure(RuntimeCategory category, std::string message) {
  return tl::unexpected<Failure>(Failure{category, std::move(message)});
}

}  // namespace dra::cel::lib
