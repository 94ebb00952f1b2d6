#include "client/testing/fault.h"

#include <deque>
#include <map>
#include <utility>

namespace dra::client {
namespace {

constexpr Duration kDefaultHang = std::chrono::seconds(30);

// Runs tasks `delay` after they were added, in order.
class DelayLine {
 public:
  DelayLine(Reactor& reactor, Duration delay) : reactor_(reactor), delay_(delay) {}

  void add(std::function<void()> task) {
    due_.push_back({reactor_.clock().mono_now() + delay_, std::move(task)});
    if (due_.size() == 1) arm();
  }
  void clear() {
    timer_.cancel();
    due_.clear();
  }

 private:
  void arm() {
    timer_ = reactor_.after(due_.front().first - reactor_.clock().mono_now(), [this] { fire(); });
  }
  void fire() {
    auto task = std::move(due_.front().second);
    due_.pop_front();
    if (!due_.empty()) arm();
    task();  // may destroy this object
  }

  Reactor& reactor_;
  Duration delay_;
  std::deque<std::pair<MonoTime, std::function<void()>>> due_;
  Handle timer_;
};

std::string expired_line() {
  return R"J({"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",)J"
         R"J("message":"too old resource version: 1 (2)","reason":"Expired","code":410}})J";
}

}  // namespace

// One call through the bad network.
struct FaultyCall : std::enable_shared_from_this<FaultyCall> {
  FaultyCall(Reactor& r, Transport& t, Fault f)
      : reactor(r), inner(t), fault(std::move(f)), there(r, fault.delay_request), back(r, fault.delay_answer) {}

  void start() {
    std::weak_ptr<FaultyCall> weak = weak_from_this();
    // The handle keeps this call alive; the delay lines are destroyed with it.
    there.add([weak] {
      if (auto self = weak.lock()) self->depart();
    });
  }

  void depart() {
    std::weak_ptr<FaultyCall> weak = weak_from_this();
    std::string what = request.method + " " + request.target;
    switch (fault.kind) {
      case Fault::Kind::kRefuse:
        finish(fail(Code::kUnavailable, what + ": connection refused"));
        return;
      case Fault::Kind::kAnswer:
        finish(fault.answer);
        return;
      case Fault::Kind::kHang: {
        Duration limit = request.timeout > Duration::zero() ? request.timeout : kDefaultHang;
        hang = reactor.after(limit, [weak, what] {
          if (auto self = weak.lock()) self->finish(fail(Code::kDeadlineExceeded, what + ": no answer in time"));
        });
        break;
      }
      default:
        break;
    }
    bool lose = fault.kind == Fault::Kind::kLoseAnswer;
    bool swallow = fault.kind == Fault::Kind::kHang;
    if (!streamed) {
      call = inner.send(request, [weak, lose, swallow, what](Result<Response> result) {
        auto self = weak.lock();
        if (!self || swallow) return;
        if (lose) result = fail(Code::kUnavailable, what + ": connection reset by peer");
        self->back.add([weak, result = std::move(result)]() mutable {
          if (auto again = weak.lock()) again->finish(std::move(result));
        });
      });
      return;
    }
    if (lose) {
      finish(fail(Code::kUnavailable, what + ": connection reset by peer"));
      return;
    }
    StreamCallbacks on;
    on.on_open = [weak, swallow](const Response& head) {
      auto self = weak.lock();
      if (!self || swallow) return;
      self->back.add([weak, head] {
        auto again = weak.lock();
        if (again && again->callbacks.on_open) again->callbacks.on_open(head);
      });
    };
    on.on_line = [weak, swallow](std::string line, const Hold&) {
      auto self = weak.lock();
      if (!self || swallow) return;
      self->back.add([weak, line = std::move(line)] {
        if (auto again = weak.lock()) again->line(line);
      });
    };
    on.on_end = [weak, swallow](Result<Response> result) {
      auto self = weak.lock();
      if (!self || swallow) return;
      self->back.add([weak, result = std::move(result)]() mutable {
        auto again = weak.lock();
        if (again && again->lines <= again->fault.silent_after_lines) again->finish(std::move(result));
      });
    };
    call = inner.stream(request, std::move(on));
  }

  void line(const std::string& text) {
    ++lines;
    if (lines > fault.silent_after_lines) return;
    if (lines > fault.cut_after_lines) {
      if (fault.last_line && callbacks.on_line) {
        callbacks.on_line(*fault.last_line, no_resume);
        Response end;
        end.status = 200;
        finish(std::move(end));
      } else {
        finish(fail(Code::kUnavailable, request.target + ": the stream was cut"));
      }
      return;
    }
    if (callbacks.on_line) callbacks.on_line(text, no_resume);
    if (fault.duplicate_every == 0 || lines % fault.duplicate_every != 0) return;
    if (!dead && callbacks.on_line) callbacks.on_line(text, no_resume);
  }

  void finish(Result<Response> result) {
    if (dead) return;
    die();
    if (streamed) {
      if (auto end = std::exchange(callbacks.on_end, nullptr)) end(std::move(result));
    } else if (auto d = std::exchange(done, nullptr)) {
      d(std::move(result));
    }
  }

  void die() {
    dead = true;
    call.cancel();
    hang.cancel();
    there.clear();
    back.clear();
  }

  Reactor& reactor;
  Transport& inner;
  Fault fault;
  Request request;
  bool streamed = false;
  bool dead = false;
  size_t lines = 0;
  Transport::Done done;
  StreamCallbacks callbacks;
  Handle call;
  Handle hang;
  DelayLine there;
  DelayLine back;
};

struct FaultTransport::Shared {
  uint64_t next = 0;
  std::map<uint64_t, std::weak_ptr<FaultyCall>> streams;
};

namespace {

class FaultyHandle : public Handle::Impl {
 public:
  explicit FaultyHandle(std::shared_ptr<FaultyCall> call) : call_(std::move(call)) {}
  ~FaultyHandle() override { call_->die(); }

 private:
  std::shared_ptr<FaultyCall> call_;
};

}  // namespace

FaultTransport::FaultTransport(Reactor& reactor, Transport& inner, FaultPlan plan)
    : reactor_(reactor), inner_(inner), plan_(std::move(plan)), shared_(std::make_shared<Shared>()) {}
FaultTransport::~FaultTransport() = default;

Handle FaultTransport::send(Request request, Done done) {
  auto call = std::make_shared<FaultyCall>(reactor_, inner_, plan_ ? plan_(request, false) : Fault{});
  call->request = std::move(request);
  call->done = std::move(done);
  call->start();
  return Handle(std::make_unique<FaultyHandle>(std::move(call)));
}

Handle FaultTransport::stream(Request request, StreamCallbacks callbacks) {
  auto call = std::make_shared<FaultyCall>(reactor_, inner_, plan_ ? plan_(request, true) : Fault{});
  call->request = std::move(request);
  call->streamed = true;
  call->callbacks = std::move(callbacks);
  call->start();
  for (auto it = shared_->streams.begin(); it != shared_->streams.end();) {
    it = it->second.expired() ? shared_->streams.erase(it) : std::next(it);
  }
  shared_->streams[shared_->next++] = call;
  return Handle(std::make_unique<FaultyHandle>(std::move(call)));
}

void FaultTransport::cut_all_streams() {
  auto streams = std::move(shared_->streams);
  shared_->streams.clear();
  for (auto& [id, weak] : streams) {
    auto call = weak.lock();
    if (call && !call->dead) {
      call->finish(fail(Code::kUnavailable, call->request.target + ": connection reset by peer"));
    }
  }
}

FaultPlan random_faults(Random& random, FaultRates rates) {
  return [&random, rates](const Request&, bool streamed) {
    Fault fault;
    auto happens = [&](double p) { return random.unit() < p; };
    auto delay = [&] {
      return Duration(static_cast<int64_t>(random.below(static_cast<uint64_t>(rates.max_delay.count()) + 1)));
    };
    fault.delay_request = delay();
    fault.delay_answer = delay();
    if (happens(rates.refuse)) {
      fault.kind = Fault::Kind::kRefuse;
    } else if (happens(rates.lose_answer)) {
      fault.kind = Fault::Kind::kLoseAnswer;
    } else if (happens(rates.hang)) {
      fault.kind = Fault::Kind::kHang;
    } else if (happens(rates.throttle)) {
      fault.kind = Fault::Kind::kAnswer;
      fault.answer.status = 429;
      fault.answer.retry_after_seconds = 1;
      fault.answer.body =
          R"({"kind":"Status","apiVersion":"v1","status":"Failure","reason":"TooManyRequests","code":429})";
    } else if (happens(rates.server_error)) {
      fault.kind = Fault::Kind::kAnswer;
      fault.answer.status = 500;
      fault.answer.body =
          R"({"kind":"Status","apiVersion":"v1","status":"Failure","reason":"InternalError","code":500})";
    }
    if (!streamed) return fault;
    if (happens(rates.cut)) fault.cut_after_lines = random.below(20);
    if (happens(rates.expire)) {
      fault.cut_after_lines = random.below(20);
      fault.last_line = expired_line();
    }
    if (happens(rates.silent)) fault.silent_after_lines = random.below(20);
    if (happens(rates.duplicate)) fault.duplicate_every = 3;
    return fault;
  };
}

}  // namespace dra::client
