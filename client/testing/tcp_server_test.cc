#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "client/testing/tcp_server.h"
#include "pkg/base/strings.h"

namespace dra::client::testing {

bool TcpConnection::send(const std::string& bytes) {
  size_t done = 0;
  while (done < bytes.size()) {
    ssize_t n = ::send(fd_, bytes.data() + done, bytes.size() - done, MSG_NOSIGNAL);
    if (n <= 0) return false;
    done += static_cast<size_t>(n);
  }
  return true;
}

bool TcpConnection::answer(int status, const std::string& body, const std::string& extra_headers) {
  return send("HTTP/1.1 " + std::to_string(status) + " X\r\nContent-Type: application/json\r\nContent-Length: " +
              std::to_string(body.size()) + "\r\n" + extra_headers + "\r\n" + body);
}

void TcpConnection::wait_until_closed() {
  char buffer[256];
  while (recv(fd_, buffer, sizeof buffer, 0) > 0) {
  }
}

void TcpConnection::close_now() {
  linger hard{1, 0};
  setsockopt(fd_, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
  shutdown(fd_, SHUT_RDWR);
}

TcpServer::TcpServer(Handler handler) : handler_(std::move(handler)) {
  listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address);
  listen(listener_, 128);
  socklen_t length = sizeof address;
  getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &length);
  port_ = ntohs(address.sin_port);
  acceptor_ = std::thread([this] { accept_loop(); });
}

TcpServer::~TcpServer() {
  stopping_ = true;
  shutdown(listener_, SHUT_RDWR);
  acceptor_.join();
  close(listener_);
  {
    std::lock_guard<std::mutex> lock(mutex_);
    for (int fd : fds_) shutdown(fd, SHUT_RDWR);
  }
  for (auto& thread : threads_) thread.join();
  for (int fd : fds_) close(fd);
}

void TcpServer::accept_loop() {
  for (;;) {
    int fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0 || stopping_) {
      if (fd >= 0) close(fd);
      return;
    }
    ++connections_;
    std::lock_guard<std::mutex> lock(mutex_);
    fds_.push_back(fd);
    threads_.emplace_back([this, fd] { serve(fd); });
  }
}

void TcpServer::serve(int fd) {
  TcpConnection connection(fd);
  std::string buffer;
  char chunk[65536];
  auto more = [&] {
    ssize_t n = recv(fd, chunk, sizeof chunk, 0);
    if (n > 0) buffer.append(chunk, static_cast<size_t>(n));
    return n > 0;
  };
  for (;;) {
    size_t end;
    while ((end = buffer.find("\r\n\r\n")) == std::string::npos) {
      if (!more()) return;
    }
    TcpRequest request;
    auto lines = split(std::string_view(buffer).substr(0, end), '\n');
    auto words = split(trim(lines[0]), ' ');
    request.method = words.at(0);
    request.target = words.at(1);
    for (size_t i = 1; i < lines.size(); ++i) {
      auto colon = lines[i].find(':');
      request.headers[to_lower(lines[i].substr(0, colon))] = std::string(trim(lines[i].substr(colon + 1)));
    }
    buffer.erase(0, end + 4);
    size_t length = request.headers.count("content-length") ? std::stoul(request.headers["content-length"]) : 0;
    while (buffer.size() < length) {
      if (!more()) return;
    }
    request.body = buffer.substr(0, length);
    buffer.erase(0, length);
    if (!handler_(request, connection)) {
      shutdown(fd, SHUT_RDWR);
      return;
    }
  }
}

}  // namespace dra::client::testing
