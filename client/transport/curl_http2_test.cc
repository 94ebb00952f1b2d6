// The network transport with a real HTTP/2 server; needs node.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <optional>

#include "client/testing/tls_material.h"
#include "client/transport/curl_transport.h"
#include "pkg/reactor/asio_reactor.h"

namespace dra::client::curl_http2_test {

using namespace std::chrono_literals;

// Runs the script; port() is 0 if node is not installed.
class NodeServer {
 public:
  NodeServer(const client::testing::TlsMaterial& tls, const std::string& script) {
    int out[2];
    if (pipe2(out, O_CLOEXEC) != 0) return;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, out[1], 1);
    std::vector<std::string> args{"node", "client/testing/" + script};
    std::vector<std::string> env{"TEST_CERT=" + tls.server_certificate, "TEST_KEY=" + tls.server_key};
    char* argv[] = {args[0].data(), args[1].data(), nullptr};
    char* envp[] = {env[0].data(), env[1].data(), nullptr};
    int failed = posix_spawnp(&pid_, argv[0], &actions, nullptr, argv, envp);
    posix_spawn_file_actions_destroy(&actions);
    close(out[1]);
    std::string text;
    char c = 0;
    while (failed == 0 && read(out[0], &c, 1) == 1 && c != '\n') text += c;
    close(out[0]);
    if (failed != 0) pid_ = 0;
    port_ = std::atoi(text.c_str());
  }
  ~NodeServer() {
    if (pid_ == 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  int port() const { return port_; }

 private:
  pid_t pid_ = 0;
  int port_ = 0;
};

class CurlHttp2 : public ::testing::Test {
 protected:
  // Skips the test, and leaves no transport, if node is not installed.
  void start(const std::string& script) {
    server_ = std::make_unique<NodeServer>(tls_, script);
    if (server_->port() == 0) GTEST_SKIP() << "needs node as an HTTP/2 server";
    ServerConfig config;
    config.server = "https://127.0.0.1:" + std::to_string(server_->port());
    config.certificate_authority = tls_.ca;
    transport = std::make_unique<CurlTransport>(reactor, config);
  }
  static Request get(const std::string& target) {
    Request request;
    request.target = target;
    return request;
  }

 private:
  const client::testing::TlsMaterial tls_ = client::testing::make_tls_material("x");
  std::unique_ptr<NodeServer> server_;
  SystemClock clock_;

 protected:
  AsioReactor reactor{clock_};
  std::unique_ptr<CurlTransport> transport;
};

TEST_F(CurlHttp2, AllRequestsShareOneConnectionThatNoStreamUses) {
  ASSERT_NO_FATAL_FAILURE(start("http2_server.js"));
  if (!transport) return;
  int done = 0;
  size_t most = 0;
  size_t lines = 0;
  int ended = 0;
  std::vector<Handle> handles;
  for (int i = 0; i < 20; ++i) {
    StreamCallbacks on;
    on.on_line = [&](const std::string&, const Hold&) { ++lines; };
    on.on_end = [&](Result<Response> r) { ended += r && r->status == 200 ? 1 : 0; };
    handles.push_back(transport->stream(get("/watch"), on));
  }
  // Below a thousand streams per session: beyond that, node's server treats a fast client as an attack and ends the
  // session.
  for (int i = 0; i < 600; ++i) {
    Request request;
    request.method = i % 3 == 0 ? "PATCH" : "GET";
    request.target = "/" + std::to_string(i);
    if (i % 3 == 0) request.body = std::string(static_cast<size_t>(i), 'b');
    std::string expected = request.method + request.target + request.body;
    handles.push_back(transport->send(request, [&, expected](Result<Response> r) {
      ASSERT_TRUE(r.has_value()) << to_string(r.error());
      EXPECT_EQ(r->body, expected);
      most = std::max(most, transport->in_flight());
      ++done;
    }));
  }
  EXPECT_TRUE(reactor.run_until([&] { return done == 600 && ended == 20; }, 60s)) << done << " " << ended;
  EXPECT_EQ(lines, 100u);
  EXPECT_GT(most, 30u);
  EXPECT_LE(most, 64u);
  std::string sessions;
  Handle handle =
      transport->send(get("/count"), [&](Result<Response> r) { sessions = r ? r->body : to_string(r.error()); });
  EXPECT_TRUE(reactor.run_until([&] { return !sessions.empty(); }, 10s));
  EXPECT_EQ(sessions, "1 20");
}

// libcurl 7.88 loses the end of an answer whose last frame does not fit its buffer until something else arrives on the
// connection.
TEST_F(CurlHttp2, AnswersOfAnySizeEndAtOnceOnAQuietConnection) {
  ASSERT_NO_FATAL_FAILURE(start("raw_http2_server.js"));
  if (!transport) return;
  // Each of these needs more than a small buffer; some end just after a buffer boundary.
  size_t received = 0;
  for (int i = 0; i < 48; ++i) {
    std::optional<Result<Response>> got[2];
    Handle calls[2];
    for (int c = 0; c < 2; ++c) {
      calls[c] = transport->send(get("/"), [&, c](Result<Response> r) { got[c] = std::move(r); });
    }
    ASSERT_TRUE(reactor.run_until([&] { return got[0].has_value() && got[1].has_value(); }, 5s)) << i;
    for (const auto& one : got) {
      ASSERT_TRUE(one->has_value()) << i << ": " << to_string(one->error());
      received += (*one)->body.size();
    }
  }
  EXPECT_GE(received, size_t{96} * 16384);
}

// A stream would wait for that too: nothing says that an event is on its way.
TEST_F(CurlHttp2, EventsOfAnySizeArriveAtOnceWithoutOtherTraffic) {
  ASSERT_NO_FATAL_FAILURE(start("raw_http2_server.js"));
  if (!transport) return;
  std::vector<std::vector<size_t>> sizes(4);
  std::vector<Handle> streams;
  for (auto& of_stream : sizes) {
    StreamCallbacks on;
    on.on_line = [&](const std::string& line, const Hold&) { of_stream.push_back(line.size()); };
    streams.push_back(transport->stream(get("/watch"), on));
  }
  const std::vector<size_t> all{1024, 2048, 4096, 8192, 16384, 32768, 65536};
  EXPECT_TRUE(reactor.run_until([&] { return sizes == std::vector<std::vector<size_t>>(4, all); }, 10s));
}

}  // namespace dra::client::curl_http2_test
