#include "pkg/base/clock.h"

#include <time.h>

#include "pkg/base/timestamp.h"

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

std::string format_rfc3339(WallTime t) {
  return format_rfc3339(Timestamp(t));
}
std::string format_rfc3339_micro(WallTime t) {
  return format_rfc3339_micro(Timestamp(t));
}

}  // namespace dra
