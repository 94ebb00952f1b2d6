// The processor time of the calling thread in milliseconds: what a test or bench measures while others use the machine.
#pragma once

#include <chrono>

#include "pkg/base/clock.h"

namespace dra::test {

inline double cpu_millis() {
  return std::chrono::duration<double, std::milli>(thread_processor_time()).count();
}

}  // namespace dra::test
