// Pump: runs a piece of work on the reactor while there is some, and again when the next one is due.
//
//   Pump pump(reactor, [this] { return Pump::Next{queue.has_ready(), queue.next_due()}; }, [this] { work_some(); });
//   queue.add(key); pump.schedule();
//
// schedule() looks; where there is work it runs in a task of its own (one at a time), and the pump looks again after
// it. It never polls: whoever makes work possible (a change, an answer, a store that is in step) calls schedule().
//
// Belongs to the reactor's thread. Destroying the pump drops what is posted.
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
    bool ready = false;           // there is work that may be done now
    std::optional<MonoTime> due;  // when there may be more, at the earliest
  };

  // The reactor must outlive the pump. `run` does some of the work that `look` reported, not necessarily all.
  Pump(Reactor& reactor, std::function<Next()> look, std::function<void()> run)
      : reactor_(reactor), look_(std::move(look)), run_(std::move(run)) {}
  ~Pump() { *alive_ = false; }
  Pump(const Pump&) = delete;
  Pump& operator=(const Pump&) = delete;

  void schedule();
  // Forgets the time that was due; schedule() looks again.
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
