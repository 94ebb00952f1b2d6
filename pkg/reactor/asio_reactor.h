// AsioReactor: the real reactor, one boost::asio::io_context.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "pkg/reactor/reactor.h"

namespace boost::asio {
class io_context;
}

namespace dra {

class AsioReactor : public Reactor {
 public:
  // `clock` must outlive the reactor and must be a real one (timers run by the machine's monotonic clock).
  // `workers` threads serve offload(); they are started by its first use.
  explicit AsioReactor(const Clock& clock, int workers = 2);
  ~AsioReactor() override;

  const Clock& clock() const override;
  void post(Task task) override;
  Handle after(Duration delay, Task task) override;
  Handle watch_fd(int fd, FdReady interest, FdCallback callback) override;
  void offload(Task work, Task done) override;

  // Runs tasks until stop(). Must be called by one thread only.
  void run();
  // Runs tasks until `done()` is true (looked at after each task) or `limit` has passed; returns done().
  bool run_until(const std::function<bool()>& done, Duration limit);
  // Makes run() return after the task that runs now. Safe from any thread and from a signal callback.
  void stop();

  // Calls back on the reactor's thread for each arrival of one of these signals, until the handle is dropped.
  [[nodiscard]] Handle on_signals(const std::vector<int>& signals, std::function<void(int)> callback);

  // Calls `observer` on the reactor's thread after each task, timer, ready descriptor and signal with the real time
  // that it took; nullptr ends it. Handlers of packages that use io_context() themselves are not seen. Call it before
  // run() or from the reactor's thread, but not from the observer.
  using TaskObserver = std::function<void(Duration)>;
  void observe_tasks(TaskObserver observer);

  // The io_context, for the few packages that wrap asio themselves (pkg/http). Include asio before use.
  boost::asio::io_context& io_context();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace dra
