#include "pkg/queue/pump.h"

namespace dra::queue {

void Pump::schedule() {
  const Next next = look_();
  if (next.ready && !posted_) {
    posted_ = true;
    reactor_.post([this, alive = alive_] {
      if (!*alive) return;
      posted_ = false;
      run_();
      if (*alive) schedule();
    });
  }
  if (next.due && (!timer_due_ || *next.due < *timer_due_)) {
    timer_due_ = next.due;
    timer_ = reactor_.after(*next.due - reactor_.clock().mono_now(), [this] {
      timer_due_.reset();
      schedule();
    });
  }
}

void Pump::rest() {
  timer_.cancel();
  timer_due_.reset();
}

}  // namespace dra::queue
