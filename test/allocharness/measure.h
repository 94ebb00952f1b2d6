// Timing of decisions, cold and warm, as the conformance runner's output defines them.
#pragma once

#include <cstdint>
#include <string>

#include "test/allocharness/contest.h"

namespace dra::allocharness {

struct Measurement {
  allocator::Decision decision;  // the first one
  std::string node;              // by name, where feasible
  int64_t cold_nanos = 0;        // the first decision, with selectors to compile and caches to fill
  int64_t nanos = 0;             // the median of `repeat` later ones; the first one's where repeat is 0
  bool stable = true;            // every later decision had the same outcome
};

// Between two repeats one device of the chosen (or first) node is taken and given back, outside the measured time.
Measurement measure(Contest& contest, int repeat);

}  // namespace dra::allocharness
