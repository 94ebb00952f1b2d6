// Reactor: the one thread that owns all state, its timers, and the file descriptors it watches.
//
// Everything the project does runs as a task on a reactor, one at a time, so stores, queues and inventories need no
// locks. There are two implementations: AsioReactor (system clock, epoll, signals, a small worker pool) and
// SimReactor (a ManualClock; nothing happens by itself, and the same program runs the same way each time).
//
// Thread safety: post() may be called from any thread; everything else only on the reactor's own thread (or before it
// runs). Tasks may throw only for bugs (CheckFailed); such an exception leaves run().
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "pkg/base/clock.h"

namespace dra {

// A pending operation that can be cancelled. Destroying the handle cancels it: its callback will not run.
class Handle {
 public:
  // The operation behind a handle; its destructor cancels.
  class Impl {
   public:
    virtual ~Impl() = default;
  };

  Handle() = default;
  explicit Handle(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
  Handle(Handle&&) noexcept = default;
  Handle& operator=(Handle&&) noexcept = default;

  void cancel() { impl_.reset(); }
  // True while the handle refers to an operation, even after the callback has run.
  explicit operator bool() const { return impl_ != nullptr; }

 private:
  std::unique_ptr<Impl> impl_;
};

class Reactor {
 public:
  using Task = std::function<void()>;

  // The events a file descriptor is watched for, and those it is ready for.
  struct FdReady {
    bool read = false;
    bool write = false;
  };
  using FdCallback = std::function<void(FdReady)>;

  virtual ~Reactor() = default;

  virtual const Clock& clock() const = 0;

  // Queues the task to run on the reactor's thread after those already posted. Safe from any thread.
  virtual void post(Task task) = 0;

  // Runs the task once after `delay` (a delay of zero or less: after the tasks already posted). Timers due at the same
  // moment run in the order of creation.
  [[nodiscard]] virtual Handle after(Duration delay, Task task) = 0;

  // Calls back repeatedly while the descriptor is ready (level-triggered). The caller keeps ownership of the descriptor
  // and must drop the handle before closing it. SimReactor does not support this (CheckFailed).
  [[nodiscard]] virtual Handle watch_fd(int fd, FdReady interest, FdCallback callback) = 0;

  // Runs `work`, a pure function of its captures, on a worker thread, then `done` on the reactor. Both run even if
  // nobody waits for them any more. A simulated reactor runs `work` as a posted task.
  virtual void offload(Task work, Task done) = 0;
};

}  // namespace dra
