// HeapTrim: returns freed memory to the system once it has grown, since the last trim, by more than 8 MiB (checked
// every second) or by more than 1 MiB (from the tenth check on).
//
// malloc keeps free memory that lies between blocks in use. After a burst (a list of many pods, searches for many
// shapes) the process would stay at its peak size, which counts against a container's limit.
//
// Belongs to the reactor's thread. A check costs some microseconds, a trim about a millisecond per 8 MiB.
#pragma once

#include <cstddef>

#include "pkg/base/clock.h"
#include "pkg/reactor/reactor.h"

namespace dra {

class HeapTrim {
 public:
  static constexpr size_t kSlack = size_t{8} << 20;
  static constexpr size_t kLittle = size_t{1} << 20;
  static constexpr int kLooks = 10;

  // `reactor` must outlive it.
  explicit HeapTrim(Reactor& reactor);

  // One check; returns whether memory was returned to the system.
  bool look();

 private:
  void look_later();

  Reactor& reactor_;
  Handle timer_;
  size_t free_ = 0;  // bytes free in malloc: the least since the last trim
  int looks_ = 0;    // checks since the last trim
};

}  // namespace dra
