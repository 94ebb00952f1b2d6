#include "pkg/queue/work_queue.h"

#include <algorithm>

namespace dra::queue {

Duration backoff_delay(const BackOff& backoff, uint64_t failures) {
  Duration delay = backoff.first;
  for (uint64_t i = 1; i < failures && delay < backoff.cap; ++i) delay *= 2;
  return std::min(delay, backoff.cap);
}

}  // namespace dra::queue
