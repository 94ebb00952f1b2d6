// Pump: runs work on the reactor while there is any, and again when the next piece is due.
//
//   Pump pump(reactor, [this] { return Pump::Next{queue.has_ready(), queue.next_due()}; }, [this] { work_some(); });
//   queue.add(key); pump.schedule();
//
// schedule() calls `look`. If there is work, it runs in its own task (one at a time), after which the pump calls `look`
// again. It never polls: whoever makes work possible (a change, an answer, a synced store) calls schedule().
//
// Belongs to the reactor's thread. Destroying the pump drops its posted task.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "pkg/base/clock.h"
#include "pkg/reactor/reactor.h"

namespace dra::queue {

class Pump {
 public:
  struct Next {
    bool ready = false;           // there is work to do now
    std::optional<MonoTime> due;  // the earliest time at which there may be more
  };

  // The reactor must outlive the pump. `run` does some of the work that `look` reported, not necessarily all.
  Pump(Reactor& reactor, std::function<Next()> look, std::function<void()> run)
      : reactor_(reactor), look_(std::move(look)), run_(std::move(run)) {}
  ~Pump() { *alive_ = false; }
  Pump(const Pump&) = delete;
  Pump& operator=(const Pump&) = delete;

  void schedule();
  // Cancels the timer until the next schedule().
  void rest();

 private:
  Reactor& reactor_;
  std::function<Next()> look_;
  std::function<void()> run_;
  bool posted_ = false;
  Handle timer_;
  std::optional<MonoTime> timer_due_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace dra::queue
