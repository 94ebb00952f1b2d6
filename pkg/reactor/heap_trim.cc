#include "pkg/reactor/heap_trim.h"

#include <malloc.h>

#include <algorithm>
#include <chrono>

namespace dra {

namespace {
constexpr std::chrono::seconds kPause{1};
constexpr int kMapFrom = 256 << 10;  // bytes: larger blocks are mmapped, and unmapped when freed
}  // namespace

HeapTrim::HeapTrim(Reactor& reactor) : reactor_(reactor) {
  // By default malloc raises this limit to the size of the largest block ever freed.
  ::mallopt(M_MMAP_THRESHOLD, kMapFrom);
  look_later();
}

bool HeapTrim::look() {
  const size_t free = ::mallinfo2().fordblks;
  free_ = std::min(free_, free);
  if (free < free_ + (++looks_ < kLooks ? kSlack : kLittle)) return false;
  ::malloc_trim(0);
  looks_ = 0;
  free_ = ::mallinfo2().fordblks;
  return true;
}

void HeapTrim::look_later() {
  timer_ = reactor_.after(kPause, [this] {
    look();
    look_later();
  });
}

}  // namespace dra
