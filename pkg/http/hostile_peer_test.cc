// Malicious peers: a bound on what they cost, and a check that others are still served.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "pkg/http/server.h"
#include "pkg/reactor/asio_reactor.h"

namespace dra::http::hostile_peer_test {

using std::chrono::milliseconds;
using std::chrono::seconds;
using SteadyClock = std::chrono::steady_clock;

class Peer {
 public:
  explicit Peer(uint16_t port) : fd_(::socket(AF_INET, SOCK_STREAM, 0)) {
    const timeval limit{15, 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ = ::connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  }
  ~Peer() { ::close(fd_); }
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  int fd() const { return fd_; }
  bool connected() const { return connected_; }
  // False once the server has closed.
  bool send(std::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t n = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (n <= 0) return false;
      bytes.remove_prefix(static_cast<size_t>(n));
    }
    return true;
  }
  // Everything received until the server closes or 15 s pass.
  std::string rest() const {
    std::string out;
    char buffer[4096];
    ssize_t n = 0;
    while ((n = ::recv(fd_, buffer, sizeof buffer, 0)) > 0) out.append(buffer, static_cast<size_t>(n));
    return out;
  }

 private:
  int fd_;
  bool connected_ = false;
};

class HostilePeerTest : public ::testing::Test {
 protected:
  ~HostilePeerTest() override { stop(); }
  void stop() {
    reactor_.stop();
    if (thread_.joinable()) thread_.join();
  }

  void serve(ServerOptions options) {
    auto server =
        Server::start(reactor_, std::move(options), [this](Request request, std::shared_ptr<Responder> responder) {
          Response r;
          if (request.target.starts_with("/bytes/")) {
            r.body.assign(std::stoul(request.target.substr(7)), 'b');
            return responder->send(std::move(r));
          }
          if (request.target.starts_with("/stream/")) {
            responder->begin_stream({});
            return stream(responder, std::stoul(request.target.substr(8)));
          }
          r.body = request.method + (request.body_too_large ? " too large" : " " + std::to_string(request.body.size()));
          responder->send(std::move(r));
        });
    ASSERT_TRUE(server) << server.error().message();
    server_ = std::move(*server);
    thread_ = std::thread([this] { reactor_.run(); });
  }

  // Pieces of a mebibyte, each when the peer has accepted the one before.
  void stream(const std::shared_ptr<Responder>& responder, size_t pieces) {
    if (pieces == 0) return responder->end();
    responder->write(std::string(1 << 20, 'p'));
    most_buffered_ = std::max(most_buffered_.load(), responder->buffered());
    ASSERT_TRUE(responder->when_accepted([this, responder, pieces] { stream(responder, pieces - 1); }));
  }

  std::string ask(const std::string& bytes) const {
    Peer peer(server_->port());
    peer.send(bytes);
    return peer.rest();
  }
  std::string probe() const { return ask("GET /livez HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"); }

  SystemClock clock_;
  AsioReactor reactor_{clock_};
  std::unique_ptr<Server> server_;
  std::thread thread_;
  std::atomic<size_t> most_buffered_ = 0;
};

TEST_F(HostilePeerTest, AStreamThatWaitsForItsPeerTakesLittleMemoryAndArrivesWhole) {
  serve({});
  Peer idle(server_->port());
  ASSERT_TRUE(idle.send("GET /stream/100 HTTP/1.1\r\nHost: x\r\n\r\n"));
  EXPECT_GT(ask("GET /stream/100 HTTP/1.1\r\nHost: x\r\n\r\n").size(), size_t{100} << 20);
  EXPECT_LT(most_buffered_, size_t{2} << 20);
  EXPECT_GT(idle.rest().size(), size_t{100} << 20) << "who reads late gets all of it";
}

// Answers wait in memory for their peers.
TEST_F(HostilePeerTest, PeersThatReadNothingCostAtMostTheLimitInAll) {
  constexpr size_t kBody = size_t{16} << 20;
  ServerOptions options;
  options.max_unsent_bytes = kBody + kBody / 2;
  serve(options);
  const auto get = [](size_t bytes) {
    return "GET /bytes/" + std::to_string(bytes) + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
  };
  std::vector<std::unique_ptr<Peer>> idle;
  for (int i = 0; i < 4; ++i) {
    idle.push_back(std::make_unique<Peer>(server_->port()));
    ASSERT_TRUE(idle.back()->send(get(kBody)));
  }
  EXPECT_GT(ask(get(kBody)).size(), kBody) << "who reads is not cut off";
  for (const auto& peer : idle) EXPECT_LT(peer->rest().size(), kBody);
  EXPECT_GT(ask(get(4 * kBody)).size(), 4 * kBody) << "nor is the only one";
}

// Streams have less: hundreds of watches with 64 KiB each would take more than all objects do.
TEST_F(HostilePeerTest, StreamsThatAreNotReadCostAtMostTheirLimitInAll) {
  ServerOptions options;
  options.max_unsent_stream_bytes = size_t{8} << 20;
  serve(options);
  std::vector<std::unique_ptr<Peer>> idle;
  for (int i = 0; i < 30; ++i) {
    idle.push_back(std::make_unique<Peer>(server_->port()));
    ASSERT_TRUE(idle.back()->send("GET /stream/100 HTTP/1.1\r\nHost: x\r\n\r\n"));
  }
  EXPECT_GT(ask("GET /stream/100 HTTP/1.1\r\nHost: x\r\n\r\n").size(), size_t{100} << 20) << "who reads is not cut off";
  size_t cut_off = 0;
  for (const auto& peer : idle)
    if (cut_off < 20 && peer->rest().size() < (size_t{50} << 20)) ++cut_off;
  EXPECT_EQ(cut_off, 20U);
}

// One connection used 600 MB in 3 s: extensions and trailers were not limited.
TEST_F(HostilePeerTest, WhatStandsAroundChunksCountsAsMuchAsTheyDo) {
  ServerOptions options;
  options.max_drain_bytes = 1 << 20;
  serve(options);
  const std::string head = "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";
  const std::string junk(64 * 1024, 'a');
  const auto sent_until_closed = [&](const std::string& begin, const std::string& piece) {
    Peer peer(server_->port());
    size_t sent = 0;
    if (!peer.send(head + begin)) return sent;
    while (sent < (size_t{64} << 20) && peer.send(piece)) sent += piece.size();
    return sent;
  };
  // The socket's own buffers accept a few megabytes before the sender notices that nobody reads.
  constexpr size_t kMost = size_t{16} << 20;
  EXPECT_LT(sent_until_closed("5;", junk), kMost) << "an extension without an end";
  EXPECT_LT(sent_until_closed("0\r\n", "X-A: " + junk + "\r\n"), kMost) << "trailers without an end";
  EXPECT_LT(sent_until_closed("", "1;" + std::string(1000, 'x') + "\r\ny\r\n"), kMost) << "extensions on every byte";
  EXPECT_LT(sent_until_closed("", "000000000000000000000001\r\ny\r\n"), kMost) << "sizes with zeros in front";
  EXPECT_LT(sent_until_closed("0\r\n", "\r\n"), kMost);
  EXPECT_TRUE(probe().starts_with("HTTP/1.1 200 "));
}

TEST_F(HostilePeerTest, ALongHeadIsRefusedAndALongBodyIsNotKept) {
  ServerOptions options;
  options.max_header_bytes = 8 * 1024;
  serve(options);
  EXPECT_TRUE(ask("GET / HTTP/1.1\r\nX: " + std::string(9000, 'x')).starts_with("HTTP/1.1 431 "));
  EXPECT_TRUE(ask("GET /" + std::string(9000, 'x')).starts_with("HTTP/1.1 431 "));
  EXPECT_NE(ask("POST / HTTP/1.1\r\nConnection: close\r\nContent-Length: 4000000\r\n\r\n" + std::string(4'000'000, 'x'))
                .find("POST too large"),
            std::string::npos);
}

TEST_F(HostilePeerTest, HeadsAndBodiesHaveADeadlineAsAWhole) {
  ServerOptions options;
  EXPECT_LE(options.head_timeout, seconds(10));
  options.head_timeout = seconds(1);
  options.body_timeout = seconds(1);
  serve(options);
  for (const char* begin : {"", "GET / HTTP/1.1\r\nX: ", "POST / HTTP/1.1\r\nContent-Length: 1000\r\n\r\n",
                            "GET / HTTP/1.1\r\nHost: x\r\n\r\nGET / HT"}) {
    Peer peer(server_->port());
    ASSERT_TRUE(peer.send(begin));
    const auto start = SteadyClock::now();
    // An occasional byte does not help.
    while (SteadyClock::now() - start < seconds(5) && peer.send(*begin == 0 ? "" : "x")) {
      char byte = 0;
      if (::recv(peer.fd(), &byte, 1, MSG_DONTWAIT) == 0) break;
      std::this_thread::sleep_for(milliseconds(50));
    }
    EXPECT_LT(SteadyClock::now() - start, seconds(3)) << begin;
  }
}

TEST_F(HostilePeerTest, OnlyWhatIsServedIsRead) {
  ServerOptions options;
  options.max_body_bytes = 0;
  options.methods = {"GET", "HEAD"};
  serve(options);
  EXPECT_TRUE(ask("GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n").starts_with("HTTP/1.1 413 "));
  EXPECT_TRUE(ask("GET / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n").starts_with("HTTP/1.1 413 "));
  const std::string refused = ask("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n");
  EXPECT_TRUE(refused.starts_with("HTTP/1.1 405 ")) << refused;
  EXPECT_NE(refused.find("\r\nAllow: GET, HEAD\r\n"), std::string::npos) << refused;
  for (const char* method : {"get", "Get", "TRACE", "CONNECT", "PRI", "X"}) {
    EXPECT_TRUE(ask(std::string(method) + " / HTTP/1.1\r\nHost: x\r\n\r\n").starts_with("HTTP/1.1 405 ")) << method;
  }
  EXPECT_TRUE(
      ask("GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").starts_with("HTTP/1.1 200 "));
}

// 1,100 half-sent requests left no connection for the probes.
TEST_F(HostilePeerTest, HalfSentRequestsDoNotKeepOthersOut) {
  ServerOptions options;
  options.max_connections = 64;
  options.max_fresh_connections = 32;
  options.max_idle_connections = 16;
  serve(options);
  std::vector<std::unique_ptr<Peer>> flood;
  for (int i = 0; i < 300; ++i) {
    flood.push_back(std::make_unique<Peer>(server_->port()));
    flood.back()->send(i % 3 == 0 ? "" : i % 3 == 1 ? "GET / HT" : "POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\nx");
    if (i % 10 != 9) continue;
    const auto start = SteadyClock::now();
    EXPECT_TRUE(probe().starts_with("HTTP/1.1 200 ")) << i;
    EXPECT_LT(SteadyClock::now() - start, seconds(1)) << i;
  }
  stop();
  EXPECT_LE(server_->connections(), 33U);
}

// Handshakes as a client that supports at most `newest`; returns the server's certificate, or "" if there was none.
std::string served_certificate(uint16_t port, int newest) {
  Peer peer(port);
  SSL_CTX* context = SSL_CTX_new(TLS_client_method());
  SSL_CTX_set_security_level(context, 0);
  SSL_CTX_set_min_proto_version(context, TLS1_VERSION);
  SSL_CTX_set_max_proto_version(context, newest);
  SSL* ssl = SSL_new(context);
  SSL_set_fd(ssl, peer.fd());
  std::string subject;
  if (SSL_connect(ssl) == 1) {
    X509* certificate = SSL_get1_peer_certificate(ssl);
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned int size = 0;
    X509_digest(certificate, EVP_sha256(), digest, &size);
    subject.assign(reinterpret_cast<char*>(digest), size);
    X509_free(certificate);
  }
  ERR_clear_error();
  SSL_free(ssl);
  SSL_CTX_free(context);
  return subject;
}

TEST_F(HostilePeerTest, OldTlsIsRefusedAndANewCertificateIsServedWithoutARestart) {
  auto first = make_self_signed_certificate("");
  auto second = make_self_signed_certificate("");
  ASSERT_TRUE(first && second);
  ServerOptions options;
  options.certificate_pem = first->certificate_pem;
  options.key_pem = first->key_pem;
  serve(options);
  EXPECT_EQ(served_certificate(server_->port(), TLS1_VERSION), "");
  EXPECT_EQ(served_certificate(server_->port(), TLS1_1_VERSION), "");
  const std::string before = served_certificate(server_->port(), TLS1_2_VERSION);
  EXPECT_NE(before, "");
  EXPECT_EQ(served_certificate(server_->port(), TLS1_3_VERSION), before);
  std::atomic<int> state{0};
  reactor_.post([&] {
    const bool kept = !server_->set_certificate({second->certificate_pem, first->key_pem});
    state = kept && server_->set_certificate(*second) ? 1 : 2;
  });
  while (state == 0) std::this_thread::sleep_for(milliseconds(1));
  EXPECT_EQ(state, 1);
  const std::string after = served_certificate(server_->port(), TLS1_3_VERSION);
  EXPECT_NE(after, "");
  EXPECT_NE(after, before);
}

}  // namespace dra::http::hostile_peer_test
