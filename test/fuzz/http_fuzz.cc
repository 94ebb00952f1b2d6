// Any bytes on a connection to the HTTP server, whole or in two pieces. Beyond not crashing, it must hold that
//  - the handler sees only known methods, and bodies within their limit,
//  - answers are HTTP,
//  - the connection is closed afterwards.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>

#include "pkg/http/server.h"
#include "pkg/reactor/asio_reactor.h"
#include "test/fuzz/seed_text.h"

namespace {

using namespace dra;

constexpr size_t kMaxBody = 512;

struct World {
  World() {
    http::ServerOptions options;
    options.max_body_bytes = kMaxBody;
    options.max_drain_bytes = 2048;
    options.max_header_bytes = 1024;
    auto started = http::Server::start(reactor, options, [](http::Request request, std::shared_ptr<http::Responder> r) {
      REQUIRE(request.method == "GET" || request.method == "HEAD" || request.method == "POST" ||
              request.method == "PUT" || request.method == "PATCH" || request.method == "DELETE" ||
              request.method == "OPTIONS");
      REQUIRE(request.body.size() <= kMaxBody);
      REQUIRE(!request.body_too_large || request.body.empty());
      for (const char c : request.target) REQUIRE(static_cast<unsigned char>(c) > 0x20);
      if (request.target.size() % 3 == 1) {
        r->begin_stream({});
        r->write(request.body);
        r->end();
        return;
      }
      http::Response response;
      response.body = request.body;
      if (request.target.size() % 3 != 2) r->send(std::move(response));
    });
    REQUIRE(started.has_value());
    server = std::move(*started);
  }
  SystemClock clock;
  AsioReactor reactor{clock};
  std::unique_ptr<http::Server> server;
};

World& world() {
  static World* const only = new World;
  return *only;
}

void send_some(int fd, std::string_view bytes) {
  if (!bytes.empty()) (void)!::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > 8 * 1024) return 0;
  World& w = world();
  const std::string text = fuzz::seed_text(data, size);
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  const linger at_once{1, 0};  // leaves no ports in TIME_WAIT
  ::setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(w.server->port());
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    ::close(fd);
    return 0;
  }
  const size_t half = text.empty() ? 0 : static_cast<unsigned char>(text[0]) % (text.size() + 1);
  send_some(fd, std::string_view(text).substr(0, half));
  w.reactor.run_until([&] { return w.server->connections() > 0; }, std::chrono::seconds(5));
  for (int round = 0; round < 3; ++round) {  // the server reads the first piece, if there is one
    bool over = false;
    w.reactor.post([&] { over = true; });
    w.reactor.run_until([&] { return over; }, std::chrono::seconds(5));
  }
  send_some(fd, std::string_view(text).substr(half));
  ::shutdown(fd, SHUT_WR);
  REQUIRE(w.reactor.run_until([&] { return w.server->connections() == 0; }, std::chrono::seconds(20)));
  char answer[4096];
  const ssize_t n = ::recv(fd, answer, sizeof answer, MSG_DONTWAIT);
  if (n >= 7) REQUIRE(std::string_view(answer, 7) == "HTTP/1.");
  ::close(fd);
  return 0;
}
