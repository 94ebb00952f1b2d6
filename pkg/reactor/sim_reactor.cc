#include "pkg/reactor/sim_reactor.h"

#include "pkg/base/check.h"

namespace dra {

struct SimReactor::Timers {
  uint64_t next_id = 0;
  // Keyed by due time, then by age.
  std::map<std::pair<MonoTime, uint64_t>, Task> queue;
};

class SimReactor::TimerHandle : public Handle::Impl {
 public:
  TimerHandle(std::weak_ptr<Timers> timers, std::pair<MonoTime, uint64_t> key)
      : timers_(std::move(timers)), key_(key) {}
  ~TimerHandle() override {
    auto timers = timers_.lock();
    if (!timers) return;
    auto it = timers->queue.find(key_);
    if (it == timers->queue.end()) return;
    // The task's captures may own handles too: destroy it only after the map is consistent again.
    Task dead = std::move(it->second);
    timers->queue.erase(it);
  }

 private:
  std::weak_ptr<Timers> timers_;
  std::pair<MonoTime, uint64_t> key_;
};

SimReactor::SimReactor(ManualClock& clock) : clock_(clock), timers_(std::make_shared<Timers>()) {}

SimReactor::~SimReactor() {
  posted_.clear();
  auto timers = std::move(timers_);
}

void SimReactor::post(Task task) {
  posted_.push_back(std::move(task));
}

Handle SimReactor::after(Duration delay, Task task) {
  if (delay < Duration::zero()) delay = Duration::zero();
  std::pair<MonoTime, uint64_t> key{clock_.mono_now() + delay, timers_->next_id++};
  timers_->queue.emplace(key, std::move(task));
  return Handle(std::make_unique<TimerHandle>(timers_, key));
}

Handle SimReactor::watch_fd(int, FdReady, FdCallback) {
  throw CheckFailed("a simulated reactor has no file descriptors to watch");
}

void SimReactor::offload(Task work, Task done) {
  post([work = std::move(work), done = std::move(done)] {
    work();
    done();
  });
}

bool SimReactor::run_one() {
  if (!posted_.empty()) {
    Task task = std::move(posted_.front());
    posted_.pop_front();
    task();
    return true;
  }
  auto first = timers_->queue.begin();
  if (first == timers_->queue.end() || first->first.first > clock_.mono_now()) return false;
  Task task = std::move(first->second);
  timers_->queue.erase(first);
  task();
  return true;
}

size_t SimReactor::run_until_idle(size_t max_tasks) {
  size_t count = 0;
  while (run_one()) {
    if (++count > max_tasks) throw CheckFailed("run_until_idle: tasks keep making tasks without time passing");
  }
  return count;
}

void SimReactor::advance(Duration d) {
  MonoTime end = clock_.mono_now() + d;
  run_until_idle();
  while (!timers_->queue.empty() && timers_->queue.begin()->first.first <= end) {
    clock_.advance(timers_->queue.begin()->first.first - clock_.mono_now());
    run_until_idle();
  }
  clock_.advance(end - clock_.mono_now());
}

bool SimReactor::run_until(const std::function<bool()>& done, Duration limit) {
  MonoTime end = clock_.mono_now() + limit;
  while (!done()) {
    if (run_one()) continue;
    if (timers_->queue.empty() || timers_->queue.begin()->first.first > end) {
      clock_.advance(end - clock_.mono_now());
      return done();
    }
    clock_.advance(timers_->queue.begin()->first.first - clock_.mono_now());
  }
  return true;
}

size_t SimReactor::pending_timers() const {
  return timers_->queue.size();
}

}  // namespace dra
