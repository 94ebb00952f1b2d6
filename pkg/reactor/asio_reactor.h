// AsioReactor: the production reactor, one boost::asio::io_context.
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
  // `clock` must outlive the reactor and must be a real clock (timers use the machine's monotonic clock). `workers`
  // threads run offload(); the first call starts them.
  explicit AsioReactor(const Clock& clock, int workers = 2);
  ~AsioReactor() override;

  const Clock& clock() const override;
  void post(Task task) override;
  Handle after(Duration delay, Task task) override;
  Handle watch_fd(int fd, FdReady interest, FdCallback callback) override;
  void offload(Task work, Task done) override;

  // Runs tasks until stop(). Must be called by one thread only.
  void run();
  // Runs tasks until `done()` is true (checked after each task) or `limit` has passed; returns done().
  bool run_until(const std::function<bool()>& done, Duration limit);
  // Makes run() return after the current task. Safe from any thread and from a signal callback.
  void stop();

  // Calls back on the reactor's thread each time one of these signals arrives, until the handle is dropped.
  [[nodiscard]] Handle on_signals(const std::vector<int>& signals, std::function<void(int)> callback);

  struct TaskTime {
    Duration took{};       // real time
    Duration processor{};  // of this thread: at most 1 ms too much; of tasks up to 1 ms it is not read, and is `took`
  };
  // After each task, timer, ready descriptor and signal, calls `observer` on the reactor's thread with the time it
  // took; nullptr removes the observer. Handlers of packages that use io_context() directly are not measured. Call this
  // before run() or on the reactor's thread, but not from the observer.
  using TaskObserver = std::function<void(const TaskTime&)>;
  void observe_tasks(TaskObserver observer);

  // The io_context, for the few packages that wrap asio themselves (pkg/http). Include asio before using it.
  boost::asio::io_context& io_context();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace dra
