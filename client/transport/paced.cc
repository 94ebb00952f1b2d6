#include "client/transport/paced.h"

#include <algorithm>
#include <map>
#include <utility>

#include "pkg/log/log.h"

namespace dra::client {
namespace {

// A call that waits for its turn, or is in progress in the inner transport.
struct PacedCall {
  Request request;
  bool streamed = false;
  bool dropped = false;
  MonoTime asked{};
  MonoTime sent{};
  Transport::Done done;
  StreamCallbacks callbacks;
  Handle inner;
};

class PacedHandle : public Handle::Impl {
 public:
  explicit PacedHandle(std::shared_ptr<PacedCall> call) : call_(std::move(call)) {}
  ~PacedHandle() override {
    call_->dropped = true;
    call_->inner.cancel();
  }

 private:
  std::shared_ptr<PacedCall> call_;
};

}  // namespace

struct PacedTransport::State : std::enable_shared_from_this<PacedTransport::State> {
  State(Reactor& r, Transport& t, PaceOptions o, RequestObserver w)
      : reactor(r), inner(t), options(o), observer(std::move(w)), tokens(o.burst), filled(r.clock().mono_now()) {}

  void add(std::shared_ptr<PacedCall> call) {
    call->asked = reactor.clock().mono_now();
    if (waiting.size() >= options.max_waiting) {
      refuse(call);
      return;
    }
    waiting.push_back(std::move(call));
    pump();
  }

  void refuse(const std::shared_ptr<PacedCall>& call) {
    std::weak_ptr<PacedCall> weak = call;
    reactor.post([weak] {
      auto refused = weak.lock();
      if (!refused || refused->dropped) return;
      Error error(Code::kResourceExhausted, refused->request.method + " " + refused->request.target +
                                                ": too many requests are waiting for the API server");
      if (refused->streamed) {
        if (refused->callbacks.on_end) refused->callbacks.on_end(fail(error));
      } else if (refused->done) {
        refused->done(fail(error));
      }
    });
  }

  // How much longer the next call must wait; takes its token if that is zero.
  Duration wait_for_turn() {
    MonoTime now = reactor.clock().mono_now();
    if (now < paused_until) return paused_until - now;
    if (options.qps <= 0) return Duration::zero();
    double elapsed = std::chrono::duration<double>(now - filled).count();
    tokens = std::min<double>(options.burst < 1 ? 1 : options.burst, tokens + elapsed * options.qps);
    filled = now;
    // Accepts almost a token: time has no fractions of a nanosecond.
    if (tokens >= 1 - 1e-6) {
      tokens -= 1;
      return Duration::zero();
    }
    return Duration(static_cast<int64_t>((1 - tokens) / options.qps * 1e9));
  }

  void pump() {
    while (!waiting.empty()) {
      if (waiting.front()->dropped) {
        waiting.pop_front();
        continue;
      }
      Duration wait = wait_for_turn();
      if (wait > Duration::zero()) {
        std::weak_ptr<State> weak = weak_from_this();
        timer = reactor.after(wait, [weak] {
          if (auto self = weak.lock()) self->pump();
        });
        return;
      }
      auto call = std::move(waiting.front());
      waiting.pop_front();
      depart(call);
    }
  }

  void depart(const std::shared_ptr<PacedCall>& call) {
    call->sent = reactor.clock().mono_now();
    Duration held = call->sent - call->asked;
    if (observer.on_held) observer.on_held(call->request.method, held);
    if (held > std::chrono::seconds(1)) {
      log::v(2, "Request was held back",
             {{"for", held}, {"method", call->request.method}, {"target", call->request.target}});
    }
    std::weak_ptr<State> weak = weak_from_this();
    if (!call->streamed) {
      std::weak_ptr<PacedCall> back = call;
      const std::string method = call->request.method;  // of the arguments below, the request may be moved first
      call->inner = inner.send(std::move(call->request), [weak, back, method](Result<Response> result) {
        auto self = weak.lock();
        auto asked = back.lock();
        if (!self || !asked) return;
        self->answered(*asked, method, result);
        asked->done(std::move(result));
      });
      return;
    }
    StreamCallbacks on = call->callbacks;
    std::weak_ptr<PacedCall> back = call;
    on.on_open = [weak, back, then = call->callbacks.on_open](const Response& head) {
      auto self = weak.lock();
      auto asked = back.lock();
      if (!self || !asked) return;
      self->answered(*asked, "WATCH", head);
      asked->streamed = false;  // its answer is counted
      if (then) then(head);
    };
    on.on_end = [weak, back, then = call->callbacks.on_end](Result<Response> result) {
      auto self = weak.lock();
      auto asked = back.lock();
      if (!self || !asked) return;
      if (asked->streamed) self->answered(*asked, "WATCH", result);
      if (then) then(std::move(result));
    };
    call->inner = inner.stream(std::move(call->request), std::move(on));
  }

  void answered(const PacedCall& call, const std::string& method, const Result<Response>& result) {
    if (observer.on_answer) {
      observer.on_answer(method, result ? std::to_string(result->status) : "<error>",
                         reactor.clock().mono_now() - call.sent);
    }
    bool asks_for_delay =
        result && (result->status == 429 || (result->status >= 500 && result->retry_after_seconds > 0));
    if (!asks_for_delay) return;
    // kube-apiserver always sends Retry-After, mostly one second.
    Duration pause = std::chrono::seconds(std::max(1, result->retry_after_seconds));
    paused_until = std::max(paused_until, reactor.clock().mono_now() + std::min(pause, options.longest_pause));
  }

  Reactor& reactor;
  Transport& inner;
  PaceOptions options;
  RequestObserver observer;
  std::deque<std::shared_ptr<PacedCall>> waiting;
  Handle timer;
  MonoTime paused_until{};
  double tokens;
  MonoTime filled;
};

PacedTransport::PacedTransport(Reactor& reactor, Transport& inner, PaceOptions options, RequestObserver observer)
    : state_(std::make_shared<State>(reactor, inner, options, std::move(observer))) {}
PacedTransport::~PacedTransport() = default;

Handle PacedTransport::send(Request request, Done done) {
  auto call = std::make_shared<PacedCall>();
  call->request = std::move(request);
  call->done = std::move(done);
  state_->add(call);
  return Handle(std::make_unique<PacedHandle>(std::move(call)));
}

Handle PacedTransport::stream(Request request, StreamCallbacks callbacks) {
  auto call = std::make_shared<PacedCall>();
  call->request = std::move(request);
  call->streamed = true;
  call->callbacks = std::move(callbacks);
  state_->add(call);
  return Handle(std::make_unique<PacedHandle>(std::move(call)));
}

MonoTime PacedTransport::paused_until() const {
  return state_->paused_until;
}

}  // namespace dra::client
