// Outcome: what the functions of the library return. A Failure is what an evaluation ends with when nothing absorbs it:
// its category, and upstream's text.
#pragma once

#include <string>
#include <tl/expected.hpp>
#include <utility>

#include "pkg/cel/errors.h"

namespace dra::cel::lib {

struct Failure {
  RuntimeCategory category;
  std::string message;
};

template <typename T>
using Outcome = tl::expected<T, Failure>;

inline tl::unexpected<Failure> failure(RuntimeCategory category, std::string message) {
  return tl::unexpected<Failure>(Failure{category, std::move(message)});
}

}  // namespace dra::cel::lib
