#include "pkg/manager/serve/serving.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <thread>

#include "pkg/reactor/asio_reactor.h"
#include "test/support/cpu_millis.h"

// The ports while the reactor runs and while it is stuck, with and without permission.
namespace dra::manager::serving_test {

using namespace std::chrono_literals;

int connect_to(uint16_t port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  const timeval limit{15, 0};
  ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  return fd;
}

std::string request_text(const std::string& path, const std::string& token) {
  return "GET " + path + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n" +
         (token.empty() ? "" : "Authorization: Bearer " + token + "\r\n") + "\r\n";
}

std::string ask_plain(uint16_t port, const std::string& path, const std::string& token = "") {
  const int fd = connect_to(port);
  const std::string text = request_text(path, token);
  EXPECT_EQ(::send(fd, text.data(), text.size(), MSG_NOSIGNAL), static_cast<ssize_t>(text.size()));
  std::string out;
  char buffer[4096];
  for (ssize_t n = 0; (n = ::recv(fd, buffer, sizeof buffer, 0)) > 0;) out.append(buffer, static_cast<size_t>(n));
  ::close(fd);
  return out;
}

std::string ask_secure(uint16_t port, const std::string& path, const std::string& token = "") {
  const int fd = connect_to(port);
  SSL_CTX* context = SSL_CTX_new(TLS_client_method());
  SSL* ssl = SSL_new(context);
  SSL_set_fd(ssl, fd);
  std::string out;
  if (SSL_connect(ssl) == 1) {
    const std::string text = request_text(path, token);
    SSL_write(ssl, text.data(), static_cast<int>(text.size()));
    char buffer[4096];
    for (int n = 0; (n = SSL_read(ssl, buffer, sizeof buffer)) > 0;) out.append(buffer, static_cast<size_t>(n));
  }
  SSL_free(ssl);
  SSL_CTX_free(context);
  ::close(fd);
  return out;
}

// An API server that knows two tokens; the user "reader" may read /metrics and /readyz.
class Reviews : public client::Transport {
 public:
  explicit Reviews(Reactor& reactor) : reactor_(reactor) {}
  Handle send(client::Request request, Done done) override {
    ++calls;
    const auto body = nlohmann::json::parse(request.body);
    client::Response response;
    response.status = 201;
    nlohmann::json out;
    if (request.target.starts_with("/apis/authentication.k8s.io/v1/tokenreviews")) {
      const std::string token = body["spec"]["token"];
      const bool known = token == "reader" || token == "stranger";
      out["status"] = {{"authenticated", known}, {"user", {{"username", token}, {"groups", {"g"}}}}};
    } else {
      const auto& spec = body["spec"];
      const std::string path = spec["nonResourceAttributes"]["path"];
      out["status"] = {{"allowed", spec["user"] == "reader" && spec["groups"][0] == "g" && path != "/configz"}};
    }
    response.body = out.dump();
    if (broken) response = {500, "", "", 0, {}};
    reactor_.post([done = std::move(done), response] { done(response); });
    return {};
  }
  Handle stream(client::Request, client::StreamCallbacks) override { return {}; }

  int calls = 0;
  bool broken = false;

 private:
  Reactor& reactor_;
};

class ServingTest : public ::testing::Test {
 protected:
  void serve(ServingOptions options = {}) {
    options.metrics_port = 0;
    EndpointSources sources;
    sources.live = [] { return std::vector<HealthCheck>{{"ping", true, "", ""}}; };
    sources.ready = [this] { return std::vector<HealthCheck>{{"informers", ready_, "pods of ns/secret-name", ""}}; };
    sources.config_json = [] { return std::string("{}"); };
    sources.version = "v1";
    sources.registry = &registry_;
    auto own = http::make_self_signed_certificate("");
    options.certificate = [own] { return own; };
    for (int port = 41'000; port < 41'100 && !serving_; ++port) {
      options.secure_port = port;
      auto serving = Serving::start(reactor_, sources, access_, options);
      if (serving) serving_ = std::move(*serving);
    }
    ASSERT_TRUE(serving_);
  }

  // Sends the request from its own thread while the reactor runs.
  template <typename F>
  std::string while_it_runs(F ask) {
    std::string answer;
    bool done = false;
    std::thread client([&] {
      answer = ask();
      reactor_.post([&] { done = true; });
    });
    EXPECT_TRUE(reactor_.run_until([&] { return done; }, 20s));
    client.join();
    return answer;
  }
  std::string status(const std::string& path, const std::string& token = "") {
    return while_it_runs([&] { return ask_secure(serving_->secure_port(), path, token); }).substr(0, 12);
  }

  SystemClock clock_;
  AsioReactor reactor_{clock_};
  metrics::Registry registry_;
  Reviews reviews_{reactor_};
  AccessReview access_{reactor_, reviews_};
  bool ready_ = true;
  std::unique_ptr<Serving> serving_;
};

// A process that is stopped at its very start must end: the thread of the ports may not run yet.
TEST_F(ServingTest, EndsHoweverShortlyAfterItsStart) {
  for (int i = 0; i < 50; ++i) {
    serve();
    serving_.reset();
  }
}

// Clients may read metrics as often as they like: they are computed once a second.
TEST_F(ServingTest, MetricsAreComputedOnceASecond) {
  int computed = 0;
  registry_.before_collect([&computed] { ++computed; });
  serve();
  std::string last;
  for (int i = 0; i < 20; ++i) {
    last = while_it_runs([&] { return ask_plain(serving_->metrics_port(), "/metrics"); });
    EXPECT_TRUE(last.starts_with("HTTP/1.1 200 "));
  }
  EXPECT_NE(last.find("\ndra_reactor_delay_seconds_count "), std::string::npos);
  EXPECT_LE(computed, 3);
  EXPECT_GE(computed, 1);
}

TEST_F(ServingTest, MetricsAreRefreshedInSeveralTasks) {
  int steps = 0, others = 0, others_at_end = 0;
  registry_.before_collect_in_steps([&] {
    others_at_end = others;
    reactor_.post([&] { ++others; });
    return ++steps == 4;
  });
  serve();
  const std::string answer = while_it_runs([&] { return ask_plain(serving_->metrics_port(), "/metrics"); });
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 200 "));
  EXPECT_EQ(steps, 4);
  EXPECT_EQ(others_at_end, 3) << "what was posted in a step runs before the next step";
}

// The reactor only refreshes gauges: the text of 10,000 series is made on the thread of the ports.
TEST_F(ServingTest, TheTextOfMetricsCostsTheReactorNothing) {
  for (int family = 0; family < 5; ++family)
    for (int i = 0; i < 2'000; ++i)
      registry_.gauges("family_" + std::to_string(family), "[ALPHA] Test.", {"name"})
          .with({std::to_string(i)})
          .set(i + 0.5);
  serve();
  double began = test::cpu_millis();
  EXPECT_GT(registry_.text().size(), 200'000u);
  const double text = test::cpu_millis() - began;
  began = test::cpu_millis();
  const std::string answer = while_it_runs([&] { return ask_plain(serving_->metrics_port(), "/metrics"); });
  const double reactor = test::cpu_millis() - began;
  EXPECT_NE(answer.find("\nfamily_4{name=\"1999\"} 1999.5\n"), std::string::npos) << answer.substr(0, 500);
  EXPECT_LT(reactor, text / 3) << text;
}

// Nothing runs the reactor here, as if it were stuck.
TEST_F(ServingTest, ProbesDoNotWaitForTheReactorAndStuckIsSaidInTime) {
  ServingOptions options;
  options.stuck_after = 400ms;
  options.answer_timeout = 100ms;
  serve(options);
  const auto start = std::chrono::steady_clock::now();
  const std::string live = ask_plain(serving_->metrics_port(), "/livez");
  const std::string ready = ask_plain(serving_->metrics_port(), "/readyz");
  if (std::chrono::steady_clock::now() - start < 300ms) {
    EXPECT_TRUE(live.starts_with("HTTP/1.1 200 ")) << live;
    EXPECT_TRUE(ready.starts_with("HTTP/1.1 200 ")) << ready;
  }
  EXPECT_TRUE(ask_plain(serving_->metrics_port(), "/metrics").starts_with("HTTP/1.1 503 "));
  std::this_thread::sleep_until(start + 500ms);
  const std::string stuck = ask_plain(serving_->metrics_port(), "/livez");
  EXPECT_TRUE(stuck.starts_with("HTTP/1.1 500 ")) << stuck;
  EXPECT_NE(stuck.find("[-]reactor failed: see the log of this pod"), std::string::npos) << stuck;
  // The reactor runs again: alive.
  while_it_runs([] {
    std::this_thread::sleep_for(300ms);
    return std::string();
  });
  EXPECT_TRUE(ask_plain(serving_->metrics_port(), "/livez").starts_with("HTTP/1.1 200 "));
}

TEST_F(ServingTest, MetricsOverHttpsAreForThoseWhoMay) {
  serve();
  EXPECT_EQ(status("/metrics"), "HTTP/1.1 401");
  EXPECT_EQ(status("/metrics", "nobody"), "HTTP/1.1 401");
  EXPECT_EQ(status("/metrics", "stranger"), "HTTP/1.1 403");
  EXPECT_EQ(status("/metrics", "reader"), "HTTP/1.1 200");
  EXPECT_EQ(status("/configz", "reader"), "HTTP/1.1 403");
  EXPECT_EQ(status("/version"), "HTTP/1.1 200");
  EXPECT_EQ(status("/livez"), "HTTP/1.1 200");
  const int before = reviews_.calls;
  EXPECT_EQ(status("/metrics", "reader"), "HTTP/1.1 200");
  EXPECT_EQ(reviews_.calls, before) << "the answer is kept for a while";
  reviews_.broken = true;
  EXPECT_EQ(status("/metrics", "other"), "HTTP/1.1 503");
  EXPECT_TRUE(
      while_it_runs([&] { return ask_plain(serving_->metrics_port(), "/metrics"); }).starts_with("HTTP/1.1 200 "));
}

TEST_F(ServingTest, PlainHttpServesProbesAloneWhereThatIsAskedFor) {
  ServingOptions options;
  options.authentication = MetricsAuthentication::kAlways;
  serve(options);
  for (const char* path : {"/metrics", "/configz"}) {
    const std::string refused = while_it_runs([&] { return ask_plain(serving_->metrics_port(), path, "reader"); });
    EXPECT_TRUE(refused.starts_with("HTTP/1.1 403 ")) << refused;
  }
  EXPECT_EQ(reviews_.calls, 0) << "a token was taken from plain HTTP";
  EXPECT_EQ(status("/metrics", "reader"), "HTTP/1.1 200");
}

TEST_F(ServingTest, WhyAProbeFailsIsToldToThoseWhoMay) {
  ready_ = false;
  serve();
  const auto answer = [&](const std::string& token) {
    return while_it_runs([&] { return ask_secure(serving_->secure_port(), "/readyz", token); });
  };
  for (const char* token : {"", "nobody", "stranger"}) {
    EXPECT_NE(answer(token).find("[-]informers failed: see the log of this pod"), std::string::npos) << answer(token);
    EXPECT_EQ(answer(token).find("secret-name"), std::string::npos) << answer(token);
  }
  EXPECT_NE(answer("reader").find("[-]informers failed: pods of ns/secret-name"), std::string::npos)
      << answer("reader");
  EXPECT_EQ(ask_plain(serving_->metrics_port(), "/readyz?verbose").find("secret-name"), std::string::npos);
}

}  // namespace dra::manager::serving_test
