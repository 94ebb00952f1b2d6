#include "pkg/base/clock.h"

#include <time.h>

namespace dra {

WallTime SystemClock::wall_now() const {
  return std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now());
}
MonoTime SystemClock::mono_now() const {
  return std::chrono::time_point_cast<Duration>(std::chrono::steady_clock::now());
}

Duration thread_processor_time() {
  timespec used{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return std::chrono::seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec);
}

}  // namespace dra
