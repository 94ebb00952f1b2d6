#include "client/transport/paced.h"

#include <gtest/gtest.h>

#include "client/testing/fault.h"
#include "client/transport/in_process.h"
#include "pkg/reactor/sim_reactor.h"

namespace dra::client::paced_test {

using namespace std::chrono_literals;

// Answers 200, or whatever `status` says.
class Echo : public RequestHandler {
 public:
  explicit Echo(const Clock& clock) : clock_(clock) {}
  void handle(const Request& request, const std::string&, std::shared_ptr<ServerExchange> exchange) override {
    arrivals.push_back(clock_.mono_now().time_since_epoch());
    Response response;
    response.status = status;
    response.retry_after_seconds = status == 429 ? retry_after : 0;
    response.body = request.target;
    exchange->respond(std::move(response));
  }
  int status = 200;
  int retry_after = 0;
  std::vector<Duration> arrivals;

 private:
  const Clock& clock_;
};

struct Fixture {
  ManualClock clock;
  SimReactor reactor{clock};
  Echo server{clock};
  InProcessTransport inner{reactor, server};
  std::vector<Handle> handles;
  int answers = 0;
  void send(Transport& transport, int n) {
    for (int i = 0; i < n; ++i) {
      Request request;
      request.target = "/x";
      handles.push_back(transport.send(request, [&](Result<Response>) { ++answers; }));
    }
  }
};

TEST(Paced, WithoutALimitNothingWaits) {
  Fixture f;
  PacedTransport paced(f.reactor, f.inner, {});
  f.send(paced, 500);
  f.reactor.run_until_idle();
  EXPECT_EQ(f.answers, 500);
}

TEST(Paced, QpsAndBurst) {
  Fixture f;
  PacedTransport paced(f.reactor, f.inner, {.qps = 10, .burst = 5});
  f.send(paced, 25);
  f.reactor.run_until_idle();
  EXPECT_EQ(f.answers, 5);
  f.reactor.advance(1s);
  EXPECT_EQ(f.answers, 15);
  f.reactor.advance(1s);
  EXPECT_EQ(f.answers, 25);
}

TEST(Paced, A429PausesTheWholeClientAndIsPassedOnNotRepeated) {
  Fixture f;
  PacedTransport paced(f.reactor, f.inner, {});
  f.server.status = 503;
  f.send(paced, 2);  // without Retry-After: no pause
  f.reactor.run_until_idle();
  ASSERT_EQ(f.answers, 2);
  f.answers = 0;
  f.server.arrivals.clear();
  f.server.status = 429;
  f.server.retry_after = 7;
  f.send(paced, 1);
  f.reactor.run_until_idle();
  EXPECT_EQ(f.answers, 1);
  f.server.status = 200;
  f.send(paced, 3);
  StreamCallbacks on;
  int lines = 0;
  on.on_line = [&](const std::string&, const Hold&) { ++lines; };
  Request watch;
  watch.target = "/line";
  Handle stream = paced.stream(watch, on);
  f.reactor.advance(6900ms);
  EXPECT_EQ(f.server.arrivals.size(), 1u);
  f.reactor.advance(200ms);
  EXPECT_EQ(f.server.arrivals.size(), 5u);
  EXPECT_EQ(f.answers, 4);
  EXPECT_EQ(lines, 1);
}

TEST(Paced, DroppedCallsGiveTheirTurnAway) {
  Fixture f;
  PacedTransport paced(f.reactor, f.inner, {.qps = 1, .burst = 1, .max_waiting = 3});
  f.send(paced, 6);  // one is sent, three wait, two are refused
  f.reactor.run_until_idle();
  EXPECT_EQ(f.answers, 3);
  f.handles[1].cancel();
  f.handles[2].cancel();
  f.reactor.advance(1s);
  EXPECT_EQ(f.answers, 4);
  EXPECT_EQ(f.server.arrivals.size(), 2u);
}

TEST(Paced, TheObserverSeesEveryAnswer) {
  Fixture f;
  std::string log;
  RequestObserver observer;
  observer.on_answer = [&](const std::string& method, const std::string& code, Duration) {
    log += method + code + " ";
  };
  Fault refuse;
  refuse.kind = Fault::Kind::kRefuse;
  FaultTransport faulty(f.reactor, f.inner, {});
  PacedTransport paced(f.reactor, faulty, {}, observer);
  f.send(paced, 1);
  f.reactor.run_until_idle();
  Request watch;
  watch.target = "/api/v1/pods?watch=1";
  Handle stream = paced.stream(watch, {});
  f.reactor.run_until_idle();
  faulty.set_plan([&](const Request&, bool) { return refuse; });
  f.send(paced, 1);
  f.reactor.run_until_idle();
  EXPECT_EQ(log, "GET200 WATCH200 GET<error> ");
}

}  // namespace dra::client::paced_test
