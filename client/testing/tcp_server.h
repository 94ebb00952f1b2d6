// TcpServer: answers HTTP/1.1 on a loopback port, with or without TLS, with any bytes a test
// wants; one thread per connection. For tests of the real transport; compiled into the test
// program only.
#pragma once

#include <atomic>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "client/testing/tls_material.h"

namespace dra::client::testing {

struct TcpRequest {
  std::string method;
  std::string target;
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;
};

class TcpConnection {
 public:
  TcpConnection(int fd, void* ssl) : fd_(fd), ssl_(ssl) {}
  // False if the peer has disconnected.
  bool send(const std::string& bytes);
  // A complete answer with a Content-Length.
  bool answer(int status, const std::string& body, const std::string& extra_headers = "");
  // Waits until the peer disconnects or the server stops.
  void wait_until_closed();
  // Up to `size` bytes; 0 or less if the peer has disconnected.
  long receive(char* buffer, size_t size);

 private:
  int fd_;
  void* ssl_;  // SSL*, or nullptr
};

class TcpServer {
 public:
  // The handler runs on the connection's thread; returning false closes the connection.
  using Handler = std::function<bool(const TcpRequest&, TcpConnection&)>;
  explicit TcpServer(Handler handler);
  // TLS 1.2 or newer. `want_client_certificate`: rejects clients without a certificate from our authority.
  TcpServer(Handler handler, const TlsMaterial& tls, bool want_client_certificate);
  ~TcpServer();
  std::string url() const { return (tls_ ? "https://127.0.0.1:" : "http://127.0.0.1:") + std::to_string(port_); }
  int port() const { return port_; }
  int connections() const { return connections_; }

 private:
  void listen_and_accept();
  void accept_loop();
  void serve(int fd);

  Handler handler_;
  std::shared_ptr<void> tls_;  // SSL_CTX
  int listener_ = -1;
  int port_ = 0;
  std::atomic<int> connections_{0};
  std::atomic<bool> stopping_{false};
  std::mutex mutex_;
  std::vector<int> fds_;
  std::list<std::thread> threads_;
  std::thread acceptor_;
};

}  // namespace dra::client::testing
