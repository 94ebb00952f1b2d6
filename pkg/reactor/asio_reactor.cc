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
// clang-format on
#include <exception>

#include "pkg/base/check.h"
#include "pkg/reactor/worker_pool.h"

namespace dra {
namespace {

namespace asio = boost::asio;

// The shared half of a timer, a watched descriptor or a signal set: the asio object and the callback. The handle's half
// sets `live` to false and cancels; a completion that was already queued then sees that it must not call.
struct AsioTimer : std::enable_shared_from_this<AsioTimer> {
  AsioTimer(asio::io_context& io, Duration delay, Reactor::Task t) : timer(io), task(std::move(t)) {
    timer.expires_after(std::chrono::duration_cast<asio::steady_timer::duration>(delay));
  }
  void start() {
    timer.async_wait([self = shared_from_this()](const boost::system::error_code& ec) {
      if (ec || !self->live) return;
      self->live = false;
      Reactor::Task run = std::move(self->task);
      run();
    });
  }
  asio::steady_timer timer;
  Reactor::Task task;
  bool live = true;
};

class AsioTimerHandle : public Handle::Impl {
 public:
  explicit AsioTimerHandle(std::shared_ptr<AsioTimer> t) : timer_(std::move(t)) {}
  ~AsioTimerHandle() override {
    if (!timer_->live) return;
    timer_->live = false;
    Reactor::Task dead = std::move(timer_->task);
    timer_->timer.cancel();
  }

 private:
  std::shared_ptr<AsioTimer> timer_;
};

struct AsioFd : std::enable_shared_from_this<AsioFd> {
  AsioFd(asio::io_context& io, int fd, Reactor::FdCallback cb) : descriptor(io, fd), callback(std::move(cb)) {}
  ~AsioFd() { release(); }

  void wait(asio::posix::stream_descriptor::wait_type type) {
    descriptor.async_wait(type, [self = shared_from_this(), type](const boost::system::error_code& ec) {
      if (!self->live || ec == asio::error::operation_aborted) return;
      // Other errors are told as readiness: the owner's read or write meets and reports them.
      bool read = type == asio::posix::stream_descriptor::wait_read;
      self->callback(Reactor::FdReady{read, !read});
      if (self->live && !ec) self->wait(type);
    });
  }
  void release() {
    live = false;
    // The descriptor belongs to the caller: give it up without closing it.
    if (descriptor.is_open()) descriptor.release();
  }

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
  AsioSignals(asio::io_context& io, std::function<void(int)> cb) : set(io), callback(std::move(cb)) {}
  void wait() {
    set.async_wait([self = shared_from_this()](const boost::system::error_code& ec, int signal) {
      if (ec || !self->live) return;
      self->callback(signal);
      if (self->live) self->wait();
    });
  }
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
  State(const Clock& c, int workers) : clock(c), guard(asio::make_work_guard(io)), pool(workers) {}
  const Clock& clock;
  asio::io_context io{1};
  asio::executor_work_guard<asio::io_context::executor_type> guard;
  // Last, so that its threads are gone before the io_context they post to.
  reactor_internal::WorkerPool pool;
};

AsioReactor::AsioReactor(const Clock& clock, int workers) : state_(std::make_unique<State>(clock, workers)) {}
AsioReactor::~AsioReactor() = default;

const Clock& AsioReactor::clock() const {
  return state_->clock;
}

void AsioReactor::post(Task task) {
  asio::post(state_->io, std::move(task));
}

Handle AsioReactor::after(Duration delay, Task task) {
  auto timer = std::make_shared<AsioTimer>(state_->io, std::max(delay, Duration::zero()), std::move(task));
  timer->start();
  return Handle(std::make_unique<AsioTimerHandle>(std::move(timer)));
}

Handle AsioReactor::watch_fd(int fd, FdReady interest, FdCallback callback) {
  auto watched = std::make_shared<AsioFd>(state_->io, fd, std::move(callback));
  if (interest.read) watched->wait(asio::posix::stream_descriptor::wait_read);
  if (interest.write) watched->wait(asio::posix::stream_descriptor::wait_write);
  return Handle(std::make_unique<AsioFdHandle>(std::move(watched)));
}

void AsioReactor::offload(Task work, Task done) {
  state_->pool.submit([this, work = std::move(work), done = std::move(done)]() mutable {
    std::exception_ptr thrown;
    try {
      work();
    } catch (...) {
      thrown = std::current_exception();
    }
    // What was captured dies on the reactor's thread, with `done`.
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
  auto set = std::make_shared<AsioSignals>(state_->io, std::move(callback));
  for (int signal : signals) set->set.add(signal);
  set->wait();
  return Handle(std::make_unique<AsioSignalsHandle>(std::move(set)));
}

boost::asio::io_context& AsioReactor::io_context() {
  return state_->io;
}

}  // namespace dra
