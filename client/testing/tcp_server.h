// TcpServer: answers HTTP/1.1 on a loopback port with whatever bytes a test wants, one thread a connection. For tests
// of the real transport; compiled into the test program only.
#pragma once

#include <atomic>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace dra::client::testing {

struct TcpRequest {
  std::string method;
  std::string target;
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;
};

class TcpConnection {
 public:
  explicit TcpConnection(int fd) : fd_(fd) {}
  // False when the peer has gone.
  bool send(const std::string& bytes);
  // A whole answer with a Content-Length.
  bool answer(int status, const std::string& body, const std::string& extra_headers = "");
  // Waits for the peer to leave or for the server to stop.
  void wait_until_closed();
  void close_now();

 private:
  int fd_;
};

class TcpServer {
 public:
  // The handler runs on the connection's thread; returning false closes the connection.
  using Handler = std::function<bool(const TcpRequest&, TcpConnection&)>;
  explicit TcpServer(Handler handler);
  ~TcpServer();
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  int port() const { return port_; }
  int connections() const { return connections_; }

 private:
  void accept_loop();
  void serve(int fd);

  Handler handler_;
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
