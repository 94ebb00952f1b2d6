// Times decisions, cold and warm, as defined by the conformance runner's output.
#pragma once

#include <cstdint>
#include <string>

#include "test/allocharness/contest.h"

namespace dra::allocharness {

struct Measurement {
  allocator::Decision decision;  // the first one
  std::string node;              // its name, if feasible
  int64_t cold_nanos = 0;        // the first decision, including compiling selectors and filling caches
  int64_t nanos = 0;             // the median of `repeat` later ones; the first one's if repeat is 0
  bool stable = true;            // every later decision had the same outcome
};

// Between two repeats, one device of the chosen (or first) node is taken and released, outside the measured time.
Measurement measure(Contest& contest, int repeat);

}  // namespace dra::allocharness
