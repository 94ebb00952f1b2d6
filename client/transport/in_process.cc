#include "client/transport/in_process.h"

#include <deque>
#include <utility>

#include "client/transport/stream_splitter.h"
#include "client/transport/target.h"
#include "pkg/base/check.h"
#include "pkg/base/strings.h"

namespace dra::client {
namespace {

// One request, seen from both ends. The server's calls are posted, so that neither side ever runs inside the other.
class Exchange : public ServerExchange, public std::enable_shared_from_this<Exchange> {
 public:
  Exchange(Reactor& reactor, Transport::Done done) : reactor_(reactor), done_(std::move(done)) {}
  Exchange(Reactor& reactor, StreamCallbacks callbacks)
      : reactor_(reactor), streamed_(true), callbacks_(std::move(callbacks)) {}

  void start_timer(Duration limit, const std::string& what) {
    std::weak_ptr<Exchange> weak = weak_from_this();
    timer_ = reactor_.after(limit, [weak, what] {
      if (auto self = weak.lock()) self->expire(what);
    });
  }

  void respond(Response response) override {
    DRA_CHECK(!opened_);
    deliver([response = std::move(response)](Exchange& self) mutable { self.answer(std::move(response)); });
  }
  void open(Response head) override {
    opened_ = true;
    head.body.clear();
    deliver([head = std::move(head)](Exchange& self) mutable { self.begin(std::move(head)); });
  }
  void write(std::string_view bytes) override {
    deliver([bytes = std::string(bytes)](Exchange& self) { self.take(bytes); });
  }
  void end() override {
    deliver([](Exchange& self) { self.end_of_body(); });
  }
  void cut(Error error) override {
    deliver([error = std::move(error)](Exchange& self) { self.finish(fail(error)); });
  }
  bool gone() const override { return gone_; }
  void on_gone(std::function<void()> callback) override { on_gone_ = std::move(callback); }

  // The client dropped its handle.
  void leave() {
    if (gone_) return;
    auto callback = retire();
    if (callback) reactor_.post(std::move(callback));
  }

 private:
  template <class F>
  void deliver(F f) {
    if (gone_) return;
    reactor_.post([self = shared_from_this(), f = std::move(f)]() mutable {
      if (!self->gone_) f(*self);
    });
  }

  // Ends this exchange; returns the server's on_gone callback. The callbacks are destroyed later: one of them may be
  // running now.
  std::function<void()> retire() {
    gone_ = true;
    timer_.cancel();
    return std::exchange(on_gone_, nullptr);
  }

  void expire(const std::string& what) {
    auto callback = std::exchange(on_gone_, nullptr);
    finish(fail(Code::kDeadlineExceeded, what + ": no answer in time"));
    if (callback) callback();
  }

  void finish(Result<Response> result) {
    on_gone_ = nullptr;
    retire();
    if (streamed_) {
      auto end = std::exchange(callbacks_.on_end, nullptr);
      if (end) end(std::move(result));
    } else {
      auto done = std::exchange(done_, nullptr);
      if (done) done(std::move(result));
    }
  }

  void answer(Response response) {
    if (streamed_ && response.ok()) {
      // A complete answer to a stream request: deliver its lines, then the end.
      std::string body = std::move(response.body);
      response.body.clear();
      begin(response);
      if (!gone_) take(body);
      if (!gone_) end_of_body();
      return;
    }
    finish(std::move(response));
  }

  void begin(Response head) {
    head_ = std::move(head);
    if (!streamed_ || !head_.ok()) return;
    timer_.cancel();
    if (callbacks_.on_open) callbacks_.on_open(head_);
  }

  void take(const std::string& bytes) {
    if (!streamed_ || !head_.ok()) {
      head_.body += bytes;
      return;
    }
    bool bounded = splitter_.feed(head_.content_type, bytes, [&](std::string_view line) {
      if (callbacks_.on_line) callbacks_.on_line(std::string(line), no_resume);
      return !gone_;
    });
    if (!bounded && !gone_) finish(fail(Code::kResourceExhausted, "a message of the stream is too long"));
  }

  void end_of_body() {
    if (streamed_ && head_.ok() && !splitter_.rest().empty()) {
      std::string last(splitter_.rest());
      if (callbacks_.on_line) callbacks_.on_line(std::move(last), no_resume);
      if (gone_) return;
    }
    finish(std::move(head_));
  }

  Reactor& reactor_;
  bool streamed_ = false;
  bool opened_ = false;
  bool gone_ = false;
  Transport::Done done_;
  StreamCallbacks callbacks_;
  std::function<void()> on_gone_;
  Response head_;
  StreamSplitter splitter_{kMaxLineBytes};
  Handle timer_;
};

class ExchangeHandle : public Handle::Impl {
 public:
  explicit ExchangeHandle(std::shared_ptr<Exchange> exchange) : exchange_(std::move(exchange)) {}
  ~ExchangeHandle() override { exchange_->leave(); }

 private:
  std::shared_ptr<Exchange> exchange_;
};

void hand_over(RequestHandler& handler, const Request& request, const std::string& token,
               const std::shared_ptr<Exchange>& exchange) {
  const std::string problem = target_problem(request.target);
  if (problem.empty()) return handler.handle(request, token, exchange);
  exchange->cut(Error(Code::kInvalidArgument, request.method + " " + quote(request.target) + ": not sent: there is " +
                                                  problem + " in the path"));
}

}  // namespace

InProcessTransport::InProcessTransport(Reactor& reactor, RequestHandler& handler, InProcessOptions options)
    : reactor_(reactor), handler_(handler), options_(std::move(options)) {}

Handle InProcessTransport::send(Request request, Done done) {
  auto exchange = std::make_shared<Exchange>(reactor_, std::move(done));
  exchange->start_timer(request.timeout > Duration::zero() ? request.timeout : options_.default_timeout,
                        request.method + " " + request.target);
  reactor_.post([&handler = handler_, token = options_.bearer_token, request = std::move(request), exchange] {
    if (!exchange->gone()) hand_over(handler, request, token, exchange);
  });
  return Handle(std::make_unique<ExchangeHandle>(std::move(exchange)));
}

Handle InProcessTransport::stream(Request request, StreamCallbacks callbacks) {
  auto exchange = std::make_shared<Exchange>(reactor_, std::move(callbacks));
  exchange->start_timer(request.timeout > Duration::zero() ? request.timeout : options_.default_timeout,
                        request.method + " " + request.target);
  reactor_.post([&handler = handler_, token = options_.bearer_token, request = std::move(request), exchange] {
    if (!exchange->gone()) hand_over(handler, request, token, exchange);
  });
  return Handle(std::make_unique<ExchangeHandle>(std::move(exchange)));
}

}  // namespace dra::client
