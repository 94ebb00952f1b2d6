#include "client/transport/curl_transport.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <functional>
#include <mutex>
#include <set>
#include <thread>

#include "client/testing/tcp_server.h"
#include "pkg/base/clock.h"
#include "pkg/reactor/asio_reactor.h"

namespace dra::client::curl_transport_test {

using namespace std::chrono_literals;
using testing::TcpConnection;
using testing::TcpRequest;
using testing::TcpServer;

struct Net {
  SystemClock clock;
  AsioReactor reactor{clock};
  std::unique_ptr<CurlTransport> transport;

  explicit Net(const std::string& url, CurlOptions options = {}, std::shared_ptr<CredentialSource> who = nullptr) {
    ServerConfig config;
    config.server = url;
    config.credentials = std::move(who);
    transport = std::make_unique<CurlTransport>(reactor, config, options);
  }
  Result<Response> call(Request request) {
    std::optional<Result<Response>> got;
    Handle handle = transport->send(std::move(request), [&](Result<Response> r) { got = std::move(r); });
    EXPECT_FALSE(got.has_value()) << "no callback inside send()";
    EXPECT_TRUE(reactor.run_until([&] { return got.has_value(); }, 20s));
    return got ? *got : fail(Code::kInternal, "never answered");
  }
};

Request get(const std::string& target) {
  Request request;
  request.target = target;
  return request;
}

TEST(CurlTransport, SendsWhatItShouldAndReadsTheAnswer) {
  TcpServer server([](const TcpRequest& r, TcpConnection& c) {
    return c.answer(201,
                    r.method + " " + r.target + " " + r.headers.at("content-type") + " " + r.headers.at("accept") +
                        " " + r.headers.at("authorization") + " " + r.body,
                    "Retry-After: 7\r\nWarning: 299 - \"old \\\"thing\\\"\"\r\n");
  });
  Net net(server.url(), {}, fixed_credentials({.authorization = "Bearer t"}));
  Request request = get("/a?b=c");
  request.method = "PATCH";
  request.body = "{}";
  request.content_type = "application/merge-patch+json";
  auto answer = net.call(request);
  ASSERT_TRUE(answer.has_value()) << to_string(answer.error());
  EXPECT_EQ(answer->status, 201);
  EXPECT_EQ(answer->body, "PATCH /a?b=c application/merge-patch+json application/json Bearer t {}");
  EXPECT_EQ(answer->retry_after_seconds, 7);
  EXPECT_EQ(answer->content_type, "application/json");
  ASSERT_EQ(answer->warnings.size(), 1u);
  EXPECT_EQ(answer->warnings[0], "old \"thing\"");
}

TEST(CurlTransport, ManyCallsReuseFewConnectionsAndAllAreAnswered) {
  TcpServer server([](const TcpRequest& r, TcpConnection& c) { return c.answer(200, r.target + r.body); });
  CurlOptions options;
  options.max_in_flight_http1 = 8;
  Net net(server.url(), options);
  int done = 0;
  size_t most = 0;
  std::vector<Handle> handles;
  for (int i = 0; i < 2000; ++i) {
    Request request = get("/" + std::to_string(i));
    request.method = i % 2 == 0 ? "GET" : "POST";
    request.body = i % 2 == 0 ? "" : std::string(static_cast<size_t>(i), 'x');
    std::string expected = request.target + request.body;
    handles.push_back(net.transport->send(request, [&, expected](Result<Response> r) {
      ASSERT_TRUE(r.has_value()) << to_string(r.error());
      EXPECT_EQ(r->body, expected);
      most = std::max(most, net.transport->in_flight());
      ++done;
    }));
  }
  EXPECT_TRUE(net.reactor.run_until([&] { return done == 2000; }, 60s));
  EXPECT_LE(most, 64u);
  EXPECT_LE(server.connections(), 64);  // until the first answer showed that this is HTTP/1.1
}

TEST(CurlTransport, RefusedConnectionsAndLostAnswersAreUnavailable) {
  int port;
  {
    TcpServer gone([](const TcpRequest&, TcpConnection&) { return false; });
    port = gone.port();
  }
  Net net("http://127.0.0.1:" + std::to_string(port));
  auto refused = net.call(get("/x"));
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code(), Code::kUnavailable);
  // Whatever was asked: it is the server that cannot be reached.
  EXPECT_EQ(refused.error().message().rfind("cannot reach http://127.0.0.1:" + std::to_string(port) + ": ", 0), 0u)
      << refused.error().message();
}

// A reused connection that dies under a write must not make libcurl send the write again.
TEST(CurlTransport, AWriteIsNeverSentTwice) {
  std::atomic<int> posts{0};
  TcpServer server([&](const TcpRequest& r, TcpConnection& c) {
    if (r.method == "GET") return c.answer(200, "ok");
    ++posts;
    return false;  // the connection dies without an answer
  });
  Net net(server.url());
  for (const char* method : {"POST", "PATCH", "PUT", "DELETE"}) {
    posts = 0;
    ASSERT_TRUE(net.call(get("/warm")).has_value());
    Request write = get("/w");
    write.method = method;
    write.body = "{\"a\":1}";
    auto answer = net.call(write);
    ASSERT_FALSE(answer.has_value());
    EXPECT_TRUE(answer.error().outcome_unknown());
    EXPECT_EQ(posts, 1) << method;
  }
}

TEST(CurlTransport, TimeLimitsCountFromSend) {
  TcpServer server([](const TcpRequest&, TcpConnection& c) {
    c.wait_until_closed();
    return false;
  });
  Net net(server.url());
  Request request = get("/slow");
  request.timeout = 50ms;
  auto answer = net.call(request);
  ASSERT_FALSE(answer.has_value());
  EXPECT_EQ(answer.error().code(), Code::kDeadlineExceeded);
  EXPECT_EQ(net.transport->in_flight(), 0u);
}

TEST(CurlTransport, BodiesAreBounded) {
  TcpServer server([](const TcpRequest&, TcpConnection& c) { return c.answer(200, std::string(100'000, 'x')); });
  CurlOptions options;
  options.max_body_bytes = 1000;
  Net net(server.url(), options);
  auto answer = net.call(get("/big"));
  ASSERT_FALSE(answer.has_value());
  EXPECT_EQ(answer.error().code(), Code::kResourceExhausted);
}

TEST(CurlTransport, TheQueueIsBounded) {
  TcpServer server([](const TcpRequest&, TcpConnection& c) {
    c.wait_until_closed();
    return false;
  });
  CurlOptions options;
  options.max_in_flight = 1;
  options.max_waiting = 2;
  Net net(server.url(), options);
  int exhausted = 0;
  std::vector<Handle> handles;
  for (int i = 0; i < 5; ++i) {
    handles.push_back(net.transport->send(get("/"), [&](Result<Response> r) {
      EXPECT_EQ(r.error().code(), Code::kResourceExhausted);
      ++exhausted;
    }));
  }
  EXPECT_TRUE(net.reactor.run_until([&] { return exhausted == 3; }, 10s));
}

TEST(CurlTransport, OneNamespaceLeavesPlacesForOthers) {
  TcpServer server([](const TcpRequest&, TcpConnection& c) { return c.answer(200, "{}"); });
  CurlOptions options;
  options.max_in_flight = options.max_in_flight_http1 = 8;
  Net net(server.url(), options);
  std::vector<Handle> handles;
  size_t answered = 0, most_alone = 0, most_together = 0;  // in flight besides the answered call
  std::function<void(const Result<Response>&)> on_answer;
  const auto send = [&](const std::string& ns, int calls) {
    for (int i = 0; i < calls; ++i)
      handles.push_back(
          net.transport->send(get("/api/v1/namespaces/" + ns + "/pods/p" + std::to_string(i)), on_answer));
  };
  on_answer = [&](const Result<Response>&) {
    size_t& most = answered < 20 ? most_alone : most_together;
    most = std::max(most, net.transport->in_flight());
    if (++answered == 20) send("default", 3);
  };
  send("tenant", 100);
  EXPECT_TRUE(net.reactor.run_until([&] { return answered == 103; }, 60s));
  EXPECT_EQ(most_alone, 5u);
  EXPECT_EQ(most_together, 7u);
  EXPECT_EQ(net.transport->in_flight(), 0u);
}

TEST(CurlTransport, ADroppedHandleIsNeverCalledBack) {
  TcpServer server([](const TcpRequest&, TcpConnection& c) { return c.answer(200, "ok"); });
  Net net(server.url());
  Handle dropped = net.transport->send(get("/a"), [](Result<Response>) { FAIL(); });
  int done = 0;
  Handle victim = net.transport->send(get("/c"), [](Result<Response>) { FAIL(); });
  Handle killer = net.transport->send(get("/b"), [&](Result<Response>) { ++done; });
  dropped.cancel();
  victim.cancel();
  EXPECT_TRUE(net.reactor.run_until([&] { return done == 1; }, 10s));
  Handle late = net.transport->send(get("/d"), [](Result<Response>) { FAIL(); });
  net.transport.reset();
  late.cancel();
}

struct StreamLog {
  std::vector<std::string> lines;
  int opened = 0;
  std::optional<Result<Response>> end;
  StreamCallbacks callbacks() {
    return {[this](const Response& head) {
              EXPECT_EQ(head.status, 200);
              ++opened;
            },
            [this](std::string line, const Hold&) { lines.push_back(std::move(line)); },
            [this](Result<Response> r) { end = std::move(r); }};
  }
};

std::string chunk(const std::string& bytes) {
  char size[20];
  std::snprintf(size, sizeof size, "%zx\r\n", bytes.size());
  return size + bytes + "\r\n";
}

constexpr char kStreamHead[] =
    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";

TEST(CurlTransport, StreamsLinesAcrossChunks) {
  TcpServer server([](const TcpRequest&, TcpConnection& c) {
    return c.send(kStreamHead) && c.send(chunk("one\ntw")) && c.send(chunk("o\n\nthree")) && c.send("0\r\n\r\n");
  });
  Net net(server.url());
  StreamLog log;
  Handle stream = net.transport->stream(get("/w"), log.callbacks());
  EXPECT_TRUE(net.reactor.run_until([&] { return log.end.has_value(); }, 10s));
  EXPECT_EQ(log.lines, (std::vector<std::string>{"one", "two", "three"}));
  EXPECT_EQ(log.opened, 1);
  ASSERT_TRUE(log.end->has_value());
  EXPECT_EQ((*log.end)->status, 200);
}

// Lines that take long to handle are delivered in several tasks, in their order and before the end.
TEST(CurlTransport, LinesAreDeliveredInPortions) {
  constexpr int kLines = 200;
  TcpServer server([](const TcpRequest&, TcpConnection& c) {
    std::string lines;
    for (int i = 0; i < kLines; ++i) lines += std::to_string(i) + "\n";
    return c.send(kStreamHead) && c.send(chunk(lines)) && c.send("0\r\n\r\n");
  });
  Net net(server.url());
  std::vector<int> lines[2];
  std::optional<int> ends[2];
  int at_once = 0, most_at_once = 0;
  Handle streams[2];
  for (int s : {0, 1}) {
    StreamCallbacks on;
    on.on_line = [&, s](const std::string& line, const Hold&) {
      lines[s].push_back(std::stoi(line));
      most_at_once = std::max(most_at_once, ++at_once);
      const auto until = std::chrono::steady_clock::now() + 1ms;
      while (std::chrono::steady_clock::now() < until) {
      }
    };
    on.on_end = [&, s](Result<Response> result) { ends[s] = result ? result->status : 0; };
    streams[s] = net.transport->stream(get("/w"), std::move(on));
  }
  net.reactor.observe_tasks([&](const AsioReactor::TaskTime&) { at_once = 0; });
  EXPECT_TRUE(net.reactor.run_until([&] { return ends[0] && ends[1]; }, 20s));
  for (int s : {0, 1}) {
    ASSERT_EQ(lines[s].size(), static_cast<size_t>(kLines));
    for (int i = 0; i < kLines; ++i) EXPECT_EQ(lines[s][static_cast<size_t>(i)], i);
    EXPECT_EQ(ends[s], 200) << "after the last line";
  }
  EXPECT_LE(most_at_once, 16);
}

// Little is read of a stream that its reader holds up, and it costs no time; other streams go on.
TEST(CurlTransport, AStreamThatIsHeldUpIsReadNoFurther) {
  constexpr size_t kLarge = 64 << 20;
  std::atomic<bool> all_sent{false};
  TcpServer server([&](const TcpRequest& request, TcpConnection& c) {
    if (!c.send(kStreamHead) || !c.send(chunk("1\n2\n"))) return false;
    if (request.target == "/large")
      for (size_t sent = 0; sent < kLarge; sent += 8192)
        if (!c.send(chunk(std::string(8191, 'x') + "\n"))) return false;
    all_sent = request.target == "/large" || all_sent;
    return c.send("0\r\n\r\n");
  });
  Net net(server.url());
  size_t lines = 0;
  std::optional<int> ended;
  Resume resume;
  StreamCallbacks on;
  on.on_line = [&](const std::string&, const Hold& hold) {
    if (++lines == 1) resume = hold();
  };
  on.on_end = [&](Result<Response> result) { ended = result ? result->status : 0; };
  Handle held = net.transport->stream(get("/large"), on);
  ASSERT_TRUE(net.reactor.run_until([&] { return lines >= 1; }, 10s));
  StreamLog other;
  Handle free = net.transport->stream(get("/small"), other.callbacks());
  EXPECT_TRUE(net.reactor.run_until([&] { return other.end.has_value(); }, 10s));
  EXPECT_EQ(other.lines, (std::vector<std::string>{"1", "2"}));
  int tasks = 0;
  net.reactor.observe_tasks([&](const AsioReactor::TaskTime&) { ++tasks; });
  net.reactor.run_until([] { return false; }, 200ms);
  EXPECT_LE(tasks, 20) << "it does not ask again and again whether there is something to read";
  EXPECT_LE(lines, 2 + 110u) << "what one call of libcurl reads at most";
  EXPECT_FALSE(ended);
  EXPECT_FALSE(all_sent) << "it was read all the same";
  resume();
  EXPECT_TRUE(net.reactor.run_until([&] { return ended.has_value(); }, 30s));
  EXPECT_EQ(lines, 2 + kLarge / 8192);
  EXPECT_EQ(ended, 200);
  // A reader that leaves while it holds its stream up.
  lines = 0;
  held = net.transport->stream(get("/large"), on);
  ASSERT_TRUE(net.reactor.run_until([&] { return lines >= 1; }, 10s));
  held.cancel();
  resume();
  net.reactor.run_until([] { return false; }, 50ms);
}

// A claim is written before the pod that names it: its event must not wait until a thousand events of pods are handled.
TEST(CurlTransport, AnEventWaitsForNoOtherStreamsBacklog) {
  constexpr int kLines = 600;
  std::atomic<bool> busy{false};
  TcpServer server([&](const TcpRequest& request, TcpConnection& c) {
    if (!c.send(kStreamHead)) return false;
    std::string lines;
    for (int i = 0; i < kLines; ++i) lines += "many\n";
    if (request.target == "/many") return c.send(chunk(lines)) && c.send("0\r\n\r\n");
    while (!busy) std::this_thread::sleep_for(1ms);
    return c.send(chunk("one\n")) && c.send("0\r\n\r\n");
  });
  Net net(server.url());
  int many = 0;
  std::optional<int> before_one;
  StreamCallbacks of_many, of_one;
  of_many.on_line = [&](const std::string&, const Hold&) {
    if (++many == kLines / 2) busy = true;  // timers of new connections, which read too, are over
    const auto until = std::chrono::steady_clock::now() + 1ms;
    while (std::chrono::steady_clock::now() < until) {
    }
  };
  of_one.on_line = [&](const std::string&, const Hold&) { before_one = many; };
  const Handle streams[] = {net.transport->stream(get("/one"), std::move(of_one)),
                            net.transport->stream(get("/many"), std::move(of_many))};
  EXPECT_TRUE(net.reactor.run_until([&] { return many == kLines && before_one; }, 20s));
  EXPECT_LT(*before_one, kLines * 3 / 4);
}

TEST(CurlTransport, AStreamOutlivesTheTimeLimitOfItsHeadAndCutsAreErrors) {
  std::atomic<bool> cut{false};
  TcpServer server([&](const TcpRequest&, TcpConnection& c) {
    c.send(kStreamHead);
    c.send(chunk("one\n"));
    while (!cut) std::this_thread::yield();
    return false;
  });
  Net net(server.url());
  StreamLog log;
  Request request = get("/w");
  request.timeout = 200ms;
  Handle stream = net.transport->stream(request, log.callbacks());
  EXPECT_TRUE(net.reactor.run_until([&] { return log.lines.size() == 1; }, 10s));
  EXPECT_FALSE(net.reactor.run_until([&] { return log.end.has_value(); }, 300ms));
  cut = true;
  EXPECT_TRUE(net.reactor.run_until([&] { return log.end.has_value(); }, 10s));
  ASSERT_FALSE(log.end->has_value());
  EXPECT_EQ(log.end->error().code(), Code::kUnavailable);
}

TEST(CurlTransport, RefusedStreamsBringTheirStatus) {
  TcpServer server([](const TcpRequest&, TcpConnection& c) { return c.answer(410, "{\"code\":410}"); });
  Net net(server.url());
  StreamLog log;
  Handle stream = net.transport->stream(get("/w"), log.callbacks());
  EXPECT_TRUE(net.reactor.run_until([&] { return log.end.has_value(); }, 10s));
  EXPECT_EQ(log.opened, 0);
  EXPECT_EQ((*log.end)->status, 410);
  EXPECT_EQ((*log.end)->body, "{\"code\":410}");
}

TEST(CurlTransport, AnEndlessLineEndsTheStream) {
  TcpServer server([](const TcpRequest&, TcpConnection& c) {
    if (!c.send(kStreamHead)) return false;
    std::string block = chunk(std::string(1 << 20, 'x'));
    while (c.send(block)) {
    }
    return false;
  });
  Net net(server.url());
  StreamLog log;
  Handle stream = net.transport->stream(get("/w"), log.callbacks());
  EXPECT_TRUE(net.reactor.run_until([&] { return log.end.has_value(); }, 20s));
  ASSERT_FALSE(log.end->has_value());
  EXPECT_EQ(log.end->error().code(), Code::kResourceExhausted);
}

// Returns "Bearer 1", and after a rejection "Bearer 2".
class Rotating : public CredentialSource {
 public:
  void get(std::function<void(Result<Credential>)> done) override {
    if (fails) return done(fail(Code::kUnauthenticated, "no token"));
    done(Credential{"Bearer " + std::to_string(version), "", ""});
  }
  void rejected(const Credential&) override {
    ++rejections;
    if (version < last) ++version;
  }
  int version = 1;
  int last = 2;
  int rejections = 0;
  bool fails = false;
};

TEST(CurlTransport, A401IsTriedOnceMoreWithFreshCredentials) {
  std::atomic<int> asked{0};
  TcpServer server([&](const TcpRequest& r, TcpConnection& c) {
    ++asked;
    return c.answer(r.headers.at("authorization") == "Bearer 2" ? 200 : 401, r.body);
  });
  auto who = std::make_shared<Rotating>();
  Net net(server.url(), {}, who);
  Request request = get("/a");
  request.method = "POST";
  request.body = "hello";
  auto answer = net.call(request);
  EXPECT_EQ(answer->status, 200);
  EXPECT_EQ(answer->body, "hello");
  EXPECT_EQ(asked, 2);
  who->version = 7;  // no newer credential: the 401 is returned
  who->last = 7;
  EXPECT_EQ(net.call(request)->status, 401);
  EXPECT_EQ(asked, 3);
}

TEST(CurlTransport, WithoutCredentialsNothingIsSent) {
  std::atomic<int> asked{0};
  TcpServer server([&](const TcpRequest&, TcpConnection& c) {
    ++asked;
    return c.answer(200, "");
  });
  auto who = std::make_shared<Rotating>();
  who->fails = true;
  Net net(server.url(), {}, who);
  int failed = 0;
  std::vector<Handle> handles;
  for (int i = 0; i < 5000; ++i) {
    handles.push_back(net.transport->send(get("/"), [&](Result<Response> r) {
      EXPECT_EQ(r.error().code(), Code::kUnauthenticated);
      ++failed;
    }));
  }
  EXPECT_TRUE(net.reactor.run_until([&] { return failed == 5000; }, 10s));
  EXPECT_EQ(asked, 0);
}

struct TlsNet : Net {
  explicit TlsNet(ServerConfig config) : Net(config.server) {
    transport = std::make_unique<CurlTransport>(reactor, std::move(config));
  }
};

TEST(CurlTransport, TlsTrustNamesAndClientCertificates) {
  signal(SIGPIPE, SIG_IGN);  // for the test's server
  const testing::TlsMaterial tls = testing::make_tls_material("api.example.com");
  TcpServer server([](const TcpRequest& r, TcpConnection& c) { return c.answer(200, r.headers.at("host")); }, tls,
                   true);
  ServerConfig config;
  config.server = server.url();
  config.certificate_authority = tls.ca;
  config.credentials = fixed_credentials({"", tls.client_certificate, tls.client_key});
  auto good = TlsNet(config).call(get("/"));
  ASSERT_TRUE(good.has_value()) << to_string(good.error());

  ServerConfig named = config;
  named.tls_server_name = "api.example.com";
  auto by_name = TlsNet(named).call(get("/"));
  ASSERT_TRUE(by_name.has_value()) << to_string(by_name.error());
  EXPECT_EQ(by_name->body, "127.0.0.1:" + std::to_string(server.port()));

  auto refused = [&](ServerConfig bad, const std::string& text) {
    auto answer = TlsNet(std::move(bad)).call(get("/"));
    ASSERT_FALSE(answer.has_value()) << text;
    EXPECT_EQ(answer.error().code(), Code::kUnavailable);
    EXPECT_NE(answer.error().message().find(text), std::string::npos) << answer.error().message();
  };
  ServerConfig wrong_name = config;
  wrong_name.tls_server_name = "other.example.com";
  refused(wrong_name, "other.example.com");
  ServerConfig wrong_authority = config;
  wrong_authority.certificate_authority = testing::make_tls_material("x").ca;
  refused(wrong_authority, "SSL");
  ServerConfig no_authority = config;
  no_authority.certificate_authority.clear();
  refused(no_authority, "certificate");
  ServerConfig no_client = config;
  no_client.credentials = nullptr;
  EXPECT_FALSE(TlsNet(no_client).call(get("/")).has_value());
  ServerConfig insecure = config;
  insecure.certificate_authority.clear();
  insecure.insecure = true;
  EXPECT_TRUE(TlsNet(insecure).call(get("/")).has_value());
}

TEST(CurlTransport, ManyCallsOverTlsFallBackToHttp1) {
  signal(SIGPIPE, SIG_IGN);
  const testing::TlsMaterial tls = testing::make_tls_material("x");
  TcpServer server([](const TcpRequest& r, TcpConnection& c) { return c.answer(200, r.target); }, tls, false);
  ServerConfig config;
  config.server = server.url();
  config.certificate_authority = tls.ca;
  TlsNet net(config);
  ASSERT_TRUE(net.call(get("/first")).has_value());
  int done = 0;
  std::vector<Handle> handles;
  for (int i = 0; i < 500; ++i) {
    handles.push_back(net.transport->send(get("/" + std::to_string(i)), [&, i](Result<Response> r) {
      ASSERT_TRUE(r.has_value()) << to_string(r.error());
      EXPECT_EQ(r->body, "/" + std::to_string(i));
      ++done;
    }));
  }
  EXPECT_TRUE(net.reactor.run_until([&] { return done == 500; }, 60s));
  EXPECT_LE(server.connections(), 24);
}

}  // namespace dra::client::curl_transport_test
