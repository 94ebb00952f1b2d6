// Reactor: the one thread that owns all state, its timers, and the file descriptors it listens to.
//
// Everything the project does runs as a task on a reactor, one at a time, so stores, queues and inventories need no
// locks. There are two implementations: AsioReactor (system clock, epoll, signals, a small worker pool) and
// SimReactor (a ManualClock; nothing happens by itself, and the same program runs the same way each time).
//
// Thread safety: post() may be called from any thread; everything else only from the reactor's own thread (or before
// it runs). Tasks may throw only for bugs (CheckFailed); what they throw leaves run().
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "pkg/base/clock.h"

namespace dra {

// A thing that is under way and can be called off. Destroying the handle calls it off: its callback will not run.
class Handle {
 public:
  // What a handle holds; destruction is cancellation.
  class Impl {
   public:
    virtual ~Impl() = default;
  };

  Handle() = default;
  explicit Handle(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
  Handle(Handle&&) noexcept = default;
  Handle& operator=(Handle&&) noexcept = default;

  void cancel() { impl_.reset(); }
  // True while the handle holds something; it stays true after the callback ran.
  explicit operator bool() const { return impl_ != nullptr; }

 private:
  std::unique_ptr<Impl> impl_;
};

class Reactor {
 public:
  using Task = std::function<void()>;

  // What a file descriptor is watched for, and what it is ready for.
  struct FdReady {
    bool read = false;
    bool write = false;
  };
  using FdCallback = std::function<void(FdReady)>;

  virtual ~Reactor() = default;

  virtual const Clock& clock() const = 0;

  // Runs the task later on the reactor's thread, after those posted before it. Safe from any thread.
  virtual void post(Task task) = 0;

  // Runs the task once when `delay` has passed (a delay of zero or less: as soon as posted tasks have run). Timers due
  // at the same moment run in the order in which they were made.
  [[nodiscard]] virtual Handle after(Duration delay, Task task) = 0;

  // Calls back, again and again, while the descriptor is ready (level-triggered). The descriptor stays the caller's;
  // the handle must be dropped before it is closed. A simulated reactor refuses (CheckFailed).
  [[nodiscard]] virtual Handle watch_fd(int fd, FdReady interest, FdCallback callback) = 0;

  // Runs `work`, a pure function of what it captured, on a worker thread, then `done` on the reactor. Both run even
  // when nobody waits any more. A simulated reactor runs `work` as a posted task.
  virtual void offload(Task work, Task done) = 0;
};

}  // namespace dra
