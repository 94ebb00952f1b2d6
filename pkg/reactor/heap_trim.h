// HeapTrim: gives memory that was freed back to the system, once a second where it is more than 8 MiB, every ten
// seconds where it is more than 1 MiB.
//
// malloc keeps what is freed between pieces in use: after a burst (a list of many pods, searches for many shapes) the
// process would stay as large as it was at most, and a container's limit counts that.
//
// Belongs to the reactor's thread. A look costs some microseconds, a trim about a millisecond for 8 MiB.
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

  // One look; returns whether memory was given back.
  bool look();

 private:
  void look_later();

  Reactor& reactor_;
  Handle timer_;
  size_t free_ = 0;  // in malloc's hands after the last trim, and the least since
  int looks_ = 0;    // since the last trim
};

}  // namespace dra
