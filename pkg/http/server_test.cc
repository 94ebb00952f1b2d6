#include "pkg/http/server.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <ctime>
#include <thread>

#include "pkg/reactor/asio_reactor.h"

namespace dra::http::server_test {

// Sends bytes and reads until the server closes.
std::string exchange(uint16_t port, const std::string& bytes) {
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  std::string out;
  if (::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) {
    size_t sent = 0;
    while (sent < bytes.size()) {
      const ssize_t n = ::send(fd, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
      if (n <= 0) break;
      sent += static_cast<size_t>(n);
    }
    char buffer[4096];
    ssize_t n = 0;
    while ((n = ::recv(fd, buffer, sizeof buffer, 0)) > 0) out.append(buffer, static_cast<size_t>(n));
  }
  ::close(fd);
  return out;
}

class HttpServerTest : public ::testing::Test {
 protected:
  void serve(Handler handler, size_t max_body = 1000) {
    ServerOptions options;
    options.max_body_bytes = max_body;
    auto server = Server::start(reactor_, options, std::move(handler));
    ASSERT_TRUE(server) << server.error().message();
    server_ = std::move(*server);
  }

  std::string ask(const std::string& bytes) {
    std::string answer;
    bool done = false;
    std::thread client([&] {
      answer = exchange(server_->port(), bytes);
      reactor_.post([&] { done = true; });
    });
    EXPECT_TRUE(reactor_.run_until([&] { return done; }, std::chrono::seconds(20)));
    client.join();
    return answer;
  }

  static void echo(Request request, std::shared_ptr<Responder> responder) {
    Response r;
    r.body = request.method + " " + request.target + (request.body_too_large ? " too large" : " " + request.body);
    responder->send(std::move(r));
  }

  SystemClock clock_;
  AsioReactor reactor_{clock_};
  std::unique_ptr<Server> server_;
};

// An unspecified address means both families; a peer is counted under its own address.
TEST_F(HttpServerTest, AllAddressesAreThoseOfBothFamilies) {
  const int probe = ::socket(AF_INET6, SOCK_STREAM, 0);
  sockaddr_in6 loopback{};
  loopback.sin6_family = AF_INET6;
  loopback.sin6_addr = in6addr_loopback;
  const bool has_v6 = probe >= 0 && ::bind(probe, reinterpret_cast<sockaddr*>(&loopback), sizeof loopback) == 0;
  if (probe >= 0) ::close(probe);
  if (!has_v6) GTEST_SKIP() << "this machine has no IPv6";
  for (const char* all : {"0.0.0.0", "::"}) {
    SCOPED_TRACE(all);
    std::vector<std::string> peers;
    ServerOptions options;
    options.bind_address = all;
    auto server = Server::start(reactor_, options, [&](Request request, std::shared_ptr<Responder> responder) {
      peers.push_back(request.remote.substr(0, request.remote.rfind(':')));
      responder->send({});
    });
    ASSERT_TRUE(server) << server.error().message();
    server_ = std::move(*server);
    EXPECT_TRUE(ask("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").starts_with("HTTP/1.1 200"));
    loopback.sin6_port = htons(server_->port());
    bool done = false;
    std::thread client([&] {
      const int fd = ::socket(AF_INET6, SOCK_STREAM, 0);
      EXPECT_EQ(::connect(fd, reinterpret_cast<sockaddr*>(&loopback), sizeof loopback), 0);
      const std::string text = "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
      EXPECT_EQ(::send(fd, text.data(), text.size(), MSG_NOSIGNAL), static_cast<ssize_t>(text.size()));
      char buffer[64];
      while (::recv(fd, buffer, sizeof buffer, 0) > 0) continue;
      ::close(fd);
      reactor_.post([&] { done = true; });
    });
    EXPECT_TRUE(reactor_.run_until([&] { return done; }, std::chrono::seconds(20)));
    client.join();
    EXPECT_EQ(peers, (std::vector<std::string>{"127.0.0.1", "::1"}));
  }
}

TEST_F(HttpServerTest, AnswersTwoRequestsOnOneConnection) {
  serve(&echo);
  const std::string answer =
      ask("POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nhi"
          "GET /b HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  EXPECT_NE(answer.find("POST /a hi"), std::string::npos) << answer;
  EXPECT_NE(answer.find("GET /b "), std::string::npos) << answer;
}

TEST_F(HttpServerTest, TooLargeBodiesReachTheHandlerEmpty) {
  serve(&echo, 10);
  const std::string answer = ask("POST /a HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 50000\r\n\r\n" +
                                 std::string(50000, 'x'));
  EXPECT_NE(answer.find("POST /a too large"), std::string::npos) << answer;
}

TEST_F(HttpServerTest, GarbageIsRefusedAndClosed) {
  serve(&echo);
  EXPECT_TRUE(ask("this is not HTTP\r\n\r\n").starts_with("HTTP/1.1 400 "));
}

TEST_F(HttpServerTest, UnknownTransferCodingsAreRefusedAndClosed) {
  serve(&echo);
  for (const char* coding : {"xchunked", "gzip", "gzip, chunked", "chunked\r\nTransfer-Encoding: identity"}) {
    const std::string answer = ask("POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: " + std::string(coding) +
                                   "\r\n\r\n2\r\nhi\r\n0\r\n\r\nGET /b HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 501 ") || answer.starts_with("HTTP/1.1 400 ")) << coding << answer;
    EXPECT_EQ(answer.find("GET /b"), std::string::npos) << coding << answer;
  }
  const std::string fine =
      ask("POST /a HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: Chunked\r\n\r\n"
          "2\r\nhi\r\n0\r\n\r\n");
  EXPECT_NE(fine.find("POST /a hi"), std::string::npos) << fine;
}

// Without free file descriptors, accept() is retried periodically, not in a busy loop.
TEST_F(HttpServerTest, FailuresToAcceptAreNotRetriedAtOnce) {
#ifdef DRA_SANITIZES_ADDRESSES
  GTEST_SKIP() << "the sanitizer itself opens pipes, and there are none left in this test";
#endif
  serve(&echo);
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const int lowest_free = ::dup(fd);
  ::close(lowest_free);
  const rlimit none{static_cast<rlim_t>(lowest_free), before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(server_->port());
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  auto cpu = [] { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; };
  const double start = cpu();
  bool over = false;
  const Handle timer = reactor_.after(std::chrono::milliseconds(500), [&] { over = true; });
  EXPECT_TRUE(reactor_.run_until([&] { return over; }, std::chrono::seconds(20)));
  EXPECT_LT(cpu() - start, 0.1);
  EXPECT_EQ(server_->connections(), 0U);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_TRUE(reactor_.run_until([&] { return server_->connections() == 1; }, std::chrono::seconds(20)));
  ::close(fd);
}

TEST_F(HttpServerTest, HandshakesHaveALimit) {
  auto certificate = make_self_signed_certificate("");
  ASSERT_TRUE(certificate);
  ServerOptions options;
  options.certificate_pem = certificate->certificate_pem;
  options.key_pem = certificate->key_pem;
  EXPECT_LE(options.handshake_timeout, std::chrono::seconds(10));
  options.handshake_timeout = std::chrono::seconds(1);
  auto server = Server::start(reactor_, options, &echo);
  ASSERT_TRUE(server);
  server_ = std::move(*server);
  EXPECT_EQ(ask(""), "");
}

TEST_F(HttpServerTest, StreamsAreChunked) {
  serve([](Request, std::shared_ptr<Responder> r) {
    r->begin_stream({});
    r->write("one\n");
    r->write("two\n");
    r->end();
  });
  const std::string answer = ask("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_NE(answer.find("4\r\none\n\r\n4\r\ntwo\n\r\n0\r\n\r\n"), std::string::npos) << answer;
}

TEST_F(HttpServerTest, AnAnswerThatTakesTurnsLetsOthersThrough) {
  bool other_answered = false, worked = false;
  std::string other;
  std::thread client;
  std::function<void(std::shared_ptr<Responder>)> step = [&](const std::shared_ptr<Responder>& responder) {
    if (other_answered && worked) return responder->send({});
    EXPECT_TRUE(responder->in_turn([&step, responder] { step(responder); }));
  };
  serve([&](const Request& request, const std::shared_ptr<Responder>& responder) {
    if (request.target == "/other") {
      other_answered = true;
      return responder->send({});
    }
    server_->in_turn([&] { worked = true; }, "work");
    client = std::thread(
        [&] { other = exchange(server_->port(), "GET /other HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"); });
    step(responder);
  });
  EXPECT_TRUE(ask("GET /long HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").starts_with("HTTP/1.1 200 "));
  bool ended = false;
  std::thread last([&] {
    client.join();
    reactor_.post([&] { ended = true; });
  });
  EXPECT_TRUE(reactor_.run_until([&] { return ended; }, std::chrono::seconds(20)));
  last.join();
  EXPECT_TRUE(other.starts_with("HTTP/1.1 200 ")) << other;
}

TEST_F(HttpServerTest, AnUnansweredRequestGets500) {
  serve([](Request, std::shared_ptr<Responder>) {});
  EXPECT_TRUE(ask("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").starts_with("HTTP/1.1 500 "));
}

TEST_F(HttpServerTest, APortInUseIsAnError) {
  serve(&echo);
  ServerOptions options;
  options.port = server_->port();
  auto second = Server::start(reactor_, options, &echo);
  ASSERT_FALSE(second);
  EXPECT_NE(second.error().message().find(std::to_string(options.port)), std::string::npos);
}

// Probes of a dual-stack or IPv6-only cluster use the pod's IPv6 address, others the IPv4 address.
TEST_F(HttpServerTest, TheUnspecifiedAddressServesBothFamilies) {
  ServerOptions options;
  options.bind_address = "::";
  auto server = Server::start(reactor_, options, &echo);
  ASSERT_TRUE(server) << server.error().message();
  server_ = std::move(*server);
  const std::string request = "GET /a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
  EXPECT_TRUE(ask(request).starts_with("HTTP/1.1 200 ")) << "over IPv4";
  const int fd = ::socket(AF_INET6, SOCK_STREAM, 0);
  if (fd < 0) GTEST_SKIP() << "this kernel has no IPv6: served over IPv4 alone";
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_port = htons(server_->port());
  address.sin6_addr = in6addr_loopback;
  const bool connected = ::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  ::close(fd);
  EXPECT_TRUE(connected || errno == EADDRNOTAVAIL) << "IPv6 is switched off here, or not served";
}

TEST_F(HttpServerTest, SelfSignedCertificatesAreUsable) {
  auto certificate = make_self_signed_certificate("192.0.2.7");
  ASSERT_TRUE(certificate);
  ServerOptions options;
  options.certificate_pem = certificate->certificate_pem;
  options.key_pem = certificate->key_pem;
  auto server = Server::start(reactor_, options, &echo);
  EXPECT_TRUE(server) << server.error().message();
}

}  // namespace dra::http::server_test
