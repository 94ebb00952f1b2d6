// SimReactor: a reactor whose time is a ManualClock. It runs only inside its own calls, in one fixed order: posted
// tasks first come, first served; timers by due time, then by age.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <utility>

#include "pkg/reactor/reactor.h"

namespace dra {

class SimReactor : public Reactor {
 public:
  // `clock` must outlive the reactor; only the reactor may advance it.
  explicit SimReactor(ManualClock& clock);
  ~SimReactor() override;

  const Clock& clock() const override { return clock_; }
  void post(Task task) override;
  Handle after(Duration delay, Task task) override;
  Handle watch_fd(int fd, FdReady interest, FdCallback callback) override;
  void offload(Task work, Task done) override;

  // Runs posted tasks and timers that are due now, without moving time; returns how many tasks ran. More than
  // `max_tasks` tasks count as an endless loop (CheckFailed).
  size_t run_until_idle(size_t max_tasks = 10'000'000);
  // Moves time forward by `d`, stopping at each timer on the way; runs everything that becomes due.
  void advance(Duration d);
  // Moves from timer to timer until `done()` (checked after each task); false if `limit` passes first.
  bool run_until(const std::function<bool()>& done, Duration limit);

  size_t pending_timers() const;

 private:
  struct Timers;
  class TimerHandle;
  bool run_one();

  ManualClock& clock_;
  std::deque<Task> posted_;
  std::shared_ptr<Timers> timers_;
};

}  // namespace dra
