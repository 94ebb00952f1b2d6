#include "pkg/reactor/asio_reactor.h"

// <utility> before asio: Boost 1.74 uses std::exchange without including it.
#include <utility>
// clang-format off
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
// clang-format on
#include <algorithm>
#include <exception>
#include <map>
#include <optional>

#include "pkg/base/check.h"

namespace dra {
namespace {

namespace asio = boost::asio;

// Runs a task and reports its duration, including destruction of its captures: freeing a large answer takes time too.
// The thread's processor time costs a system call: it is read once per kUnread at most, and after long tasks.
class TaskTimer {
 public:
  void set(AsioReactor::TaskObserver observer) { observer_ = std::move(observer); }
  void run(Reactor::Task task) {
    measured([&task] { std::exchange(task, nullptr)(); });
  }
  template <class Function>
  void measured(Function&& call) {
    if (!observer_) return call();
    const auto start = std::chrono::steady_clock::now();
    if (start - read_at_ > kUnread) read(start);
    call();  // an exception leaves run(): a bug is not measured
    if (!observer_) return;
    const auto end = std::chrono::steady_clock::now();
    AsioReactor::TaskTime time{end - start, end - start};
    if (time.took > kUnread) {
      const Duration before = processor_;
      read(end);
      time.processor = std::min(time.took, processor_ - before);
    }
    observer_(time);
  }

 private:
  static constexpr Duration kUnread = std::chrono::milliseconds(1);

  void read(std::chrono::steady_clock::time_point now) {
    processor_ = thread_processor_time();
    read_at_ = now;
  }

  AsioReactor::TaskObserver observer_;
  std::chrono::steady_clock::time_point read_at_{};
  Duration processor_{};
};

// All timers share one asio timer. A timer that is set and cancelled, like the timeout of every request, costs no
// system call: cancelling leaves the asio timer armed, and if it then fires early it finds nothing to do.
class Timers {
 public:
  using Time = asio::steady_timer::time_point;
  using Key = std::pair<Time, uint64_t>;  // due, age

  Timers(asio::io_context& io, TaskTimer& timer) : io_(io), timer_(timer), alarm_(io) {}

  Key add(Duration delay, Reactor::Task task) {
    const Key key{asio::steady_timer::clock_type::now() + std::min(delay, kLongest), ++last_};
    tasks_.emplace(key, std::move(task));
    if (delay <= Duration::zero()) {
      asio::post(io_, [this, key] { run(tasks_.find(key)); });
    } else if (!armed_ || key.first < armed_at_) {
      arm(key.first);
    }
    return key;
  }
  void remove(const Key& key) {
    auto node = tasks_.extract(key);  // the task is destroyed when no container here is being modified
  }
  // Cancels all timers for good. A dropped task may own timer handles itself.
  void clear() {
    while (!tasks_.empty()) remove(tasks_.begin()->first);
  }

 private:
  // Time point arithmetic would overflow beyond this.
  static constexpr Duration kLongest = std::chrono::hours(24 * 365);

  void arm(Time at) {
    armed_ = true;
    armed_at_ = at;
    alarm_.expires_at(at);  // cancels the previous wait
    alarm_.async_wait([this](const boost::system::error_code& ec) {
      if (!ec) ring();
    });
  }
  // Runs one task per turn, as if each had its own asio timer: if one throws out of run(), no other is lost.
  void ring() {
    armed_ = false;
    if (tasks_.empty()) return;
    const auto first = tasks_.begin();
    if (first->first.first > asio::steady_timer::clock_type::now()) return arm(first->first.first);
    asio::post(io_, [this] { ring(); });  // for the next one
    run(first);
  }
  void run(std::map<Key, Reactor::Task>::iterator at) {
    if (at == tasks_.end()) return;
    auto node = tasks_.extract(at);
    timer_.run(std::move(node.mapped()));
  }

  asio::io_context& io_;
  TaskTimer& timer_;
  asio::steady_timer alarm_;
  std::map<Key, Reactor::Task> tasks_;
  uint64_t last_ = 0;
  bool armed_ = false;
  Time armed_at_{};
};

class TimerHandle : public Handle::Impl {
 public:
  TimerHandle(std::weak_ptr<Timers> timers, Timers::Key key) : timers_(std::move(timers)), key_(key) {}
  ~TimerHandle() override {
    if (auto timers = timers_.lock()) timers->remove(key_);
  }

 private:
  std::weak_ptr<Timers> timers_;
  Timers::Key key_;
};

// The shared half of a watched descriptor or a signal set: the asio object and the callback. The handle's half sets
// `live` to false and cancels; a completion already in the queue then sees that it must not call back.
struct AsioFd : std::enable_shared_from_this<AsioFd> {
  AsioFd(asio::io_context& io, TaskTimer& t, int fd, Reactor::FdCallback cb)
      : timer(t), descriptor(io, fd), callback(std::move(cb)) {}
  ~AsioFd() { release(); }

  void wait(asio::posix::stream_descriptor::wait_type type) {
    descriptor.async_wait(type, [self = shared_from_this(), type](const boost::system::error_code& ec) {
      if (!self->live || ec == asio::error::operation_aborted) return;
      // Reports other errors as readiness: the owner's next read or write fails and reports them.
      bool read = type == asio::posix::stream_descriptor::wait_read;
      self->timer.measured([&] { self->callback(Reactor::FdReady{read, !read}); });
      if (self->live && !ec) self->wait(type);
    });
  }
  void release() {
    live = false;
    // The caller owns the descriptor: release it without closing it.
    if (descriptor.is_open()) descriptor.release();
  }

  TaskTimer& timer;
  asio::posix::stream_descriptor descriptor;
  Reactor::FdCallback callback;
  bool live = true;
};

class AsioFdHandle : public Handle::Impl {
 public:
  explicit AsioFdHandle(std::shared_ptr<AsioFd> fd) : fd_(std::move(fd)) {}
  ~AsioFdHandle() override { fd_->release(); }

 private:
  std::shared_ptr<AsioFd> fd_;
};

struct AsioSignals : std::enable_shared_from_this<AsioSignals> {
  AsioSignals(asio::io_context& io, TaskTimer& t, std::function<void(int)> cb)
      : timer(t), set(io), callback(std::move(cb)) {}
  void wait() {
    set.async_wait([self = shared_from_this()](const boost::system::error_code& ec, int signal) {
      if (ec || !self->live) return;
      self->timer.measured([&] { self->callback(signal); });
      if (self->live) self->wait();
    });
  }
  TaskTimer& timer;
  asio::signal_set set;
  std::function<void(int)> callback;
  bool live = true;
};

class AsioSignalsHandle : public Handle::Impl {
 public:
  explicit AsioSignalsHandle(std::shared_ptr<AsioSignals> s) : signals_(std::move(s)) {}
  ~AsioSignalsHandle() override {
    signals_->live = false;
    signals_->set.cancel();
  }

 private:
  std::shared_ptr<AsioSignals> signals_;
};

}  // namespace

struct AsioReactor::State {
  State(const Clock& c, int worker_threads)
      : clock(c), guard(asio::make_work_guard(io)), workers(static_cast<size_t>(std::max(worker_threads, 1))) {}
  ~State() { timers->clear(); }
  const Clock& clock;
  TaskTimer task_timer;  // first: handlers waiting in the io_context refer to it
  asio::io_context io{1};
  std::shared_ptr<Timers> timers = std::make_shared<Timers>(io, task_timer);
  asio::executor_work_guard<asio::io_context::executor_type> guard;
  const size_t workers;
  // Created on first use. Declared last, so that its threads end before the io_context they post to: its destructor
  // waits for running jobs and drops those not yet started.
  std::optional<asio::thread_pool> pool;
};

AsioReactor::AsioReactor(const Clock& clock, int workers) : state_(std::make_unique<State>(clock, workers)) {}
AsioReactor::~AsioReactor() = default;

const Clock& AsioReactor::clock() const {
  return state_->clock;
}

void AsioReactor::post(Task task) {
  asio::post(state_->io,
             [&timer = state_->task_timer, task = std::move(task)]() mutable { timer.run(std::move(task)); });
}

Handle AsioReactor::after(Duration delay, Task task) {
  const auto key = state_->timers->add(std::max(delay, Duration::zero()), std::move(task));
  return Handle(std::make_unique<TimerHandle>(state_->timers, key));
}

Handle AsioReactor::watch_fd(int fd, FdReady interest, FdCallback callback) {
  auto watched = std::make_shared<AsioFd>(state_->io, state_->task_timer, fd, std::move(callback));
  if (interest.read) watched->wait(asio::posix::stream_descriptor::wait_read);
  if (interest.write) watched->wait(asio::posix::stream_descriptor::wait_write);
  return Handle(std::make_unique<AsioFdHandle>(std::move(watched)));
}

void AsioReactor::offload(Task work, Task done) {
  if (!state_->pool) state_->pool.emplace(state_->workers);
  asio::post(*state_->pool, [this, work = std::move(work), done = std::move(done)]() mutable {
    std::exception_ptr thrown;
    try {
      work();
    } catch (...) {
      thrown = std::current_exception();
    }
    // Captures are destroyed on the reactor's thread, together with `done`.
    post([thrown, work = std::move(work), done = std::move(done)] {
      if (thrown) std::rethrow_exception(thrown);
      done();
    });
  });
}

void AsioReactor::run() {
  state_->io.restart();
  state_->io.run();
}

bool AsioReactor::run_until(const std::function<bool()>& done, Duration limit) {
  state_->io.restart();
  auto end = std::chrono::steady_clock::now() + limit;
  while (!done()) {
    if (state_->io.stopped() || std::chrono::steady_clock::now() >= end) return done();
    state_->io.run_one_until(end);
  }
  return true;
}

void AsioReactor::stop() {
  state_->io.stop();
}

Handle AsioReactor::on_signals(const std::vector<int>& signals, std::function<void(int)> callback) {
  auto set = std::make_shared<AsioSignals>(state_->io, state_->task_timer, std::move(callback));
  for (int signal : signals) set->set.add(signal);
  set->wait();
  return Handle(std::make_unique<AsioSignalsHandle>(std::move(set)));
}

void AsioReactor::observe_tasks(TaskObserver observer) {
  state_->task_timer.set(std::move(observer));
}

boost::asio::io_context& AsioReactor::io_context() {
  return state_->io;
}

}  // namespace dra
