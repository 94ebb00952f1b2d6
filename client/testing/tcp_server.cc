#include <arpa/inet.h>
#include <netinet/in.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "client/testing/tcp_server.h"
#include "pkg/base/strings.h"

namespace dra::client::testing {

bool TcpConnection::send(const std::string& bytes) {
  size_t done = 0;
  while (done < bytes.size()) {
    long n = ssl_ != nullptr
                 ? SSL_write(static_cast<SSL*>(ssl_), bytes.data() + done, static_cast<int>(bytes.size() - done))
                 : ::send(fd_, bytes.data() + done, bytes.size() - done, MSG_NOSIGNAL);
    if (n <= 0) return false;
    done += static_cast<size_t>(n);
  }
  return true;
}

long TcpConnection::receive(char* buffer, size_t size) {
  if (ssl_ != nullptr) return SSL_read(static_cast<SSL*>(ssl_), buffer, static_cast<int>(size));
  return recv(fd_, buffer, size, 0);
}

bool TcpConnection::answer(int status, const std::string& body, const std::string& extra_headers) {
  return send("HTTP/1.1 " + std::to_string(status) + " X\r\nContent-Type: application/json\r\nContent-Length: " +
              std::to_string(body.size()) + "\r\n" + extra_headers + "\r\n" + body);
}

void TcpConnection::wait_until_closed() {
  char buffer[256];
  while (receive(buffer, sizeof buffer) > 0) {
  }
}

TcpServer::TcpServer(Handler handler) : handler_(std::move(handler)) {
  listen_and_accept();
}

TcpServer::TcpServer(Handler handler, const TlsMaterial& tls, bool want_client_certificate)
    : handler_(std::move(handler)) {
  SSL_CTX* context = SSL_CTX_new(TLS_server_method());
  tls_ = std::shared_ptr<void>(context, [](void* c) { SSL_CTX_free(static_cast<SSL_CTX*>(c)); });
  BIO* certificate_bio = BIO_new_mem_buf(tls.server_certificate.data(), -1);
  X509* certificate = PEM_read_bio_X509(certificate_bio, nullptr, nullptr, nullptr);
  BIO* key_bio = BIO_new_mem_buf(tls.server_key.data(), -1);
  EVP_PKEY* key = PEM_read_bio_PrivateKey(key_bio, nullptr, nullptr, nullptr);
  BIO* ca_bio = BIO_new_mem_buf(tls.ca.data(), -1);
  X509* ca = PEM_read_bio_X509(ca_bio, nullptr, nullptr, nullptr);
  SSL_CTX_use_certificate(context, certificate);
  SSL_CTX_use_PrivateKey(context, key);
  X509_STORE_add_cert(SSL_CTX_get_cert_store(context), ca);
  if (want_client_certificate) {
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  }
  X509_free(certificate);
  X509_free(ca);
  EVP_PKEY_free(key);
  for (BIO* bio : {certificate_bio, key_bio, ca_bio}) BIO_free(bio);
  listen_and_accept();
}

void TcpServer::listen_and_accept() {
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
  std::unique_ptr<SSL, void (*)(SSL*)> ssl(nullptr, SSL_free);
  if (tls_) {
    ssl.reset(SSL_new(static_cast<SSL_CTX*>(tls_.get())));
    SSL_set_fd(ssl.get(), fd);
    if (SSL_accept(ssl.get()) != 1) {
      shutdown(fd, SHUT_RDWR);
      return;
    }
  }
  TcpConnection connection(fd, ssl.get());
  std::string buffer;
  char chunk[65536];
  auto more = [&] {
    long n = connection.receive(chunk, sizeof chunk);
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
