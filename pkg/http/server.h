// An HTTP/1.1 server on the reactor, with or without TLS (1.2 and newer): keep-alive, chunked streams.
//
// Peers are not trusted. Every byte that arrives is counted, heads and bodies have a deadline as a whole, and where
// there are too many connections those that do nothing make room for those that ask.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "pkg/base/error.h"
#include "pkg/http/message.h"

namespace dra {
class AsioReactor;
}

namespace dra::http {

struct ServerOptions {
  std::string bind_address = "127.0.0.1";  // 0.0.0.0 or ::, all addresses of both families
  uint16_t port = 0;                       // 0: any free one
  // PEM texts; both empty means plain HTTP.
  std::string certificate_pem;
  std::string key_pem;

  // Connections in all (at most half of the process' descriptors), of one peer's address, without a whole request so
  // far, between or in later requests, and whose answer waits for the peer to take it. Beyond these the least useful is
  // closed for the new one (ConnectionTable).
  size_t max_connections = 1024;
  size_t max_connections_per_peer = 1024;
  size_t max_fresh_connections = 128;
  size_t max_idle_connections = 256;
  size_t max_answering_connections = 1024;
  size_t max_received_bytes = size_t{24} << 20;  // of requests that are not complete yet, in all connections

  // Methods in capitals; others are answered 405.
  std::vector<std::string> methods{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"};
  size_t max_header_bytes = 64 * 1024;        // more: 431; a chunk's extension and trailers count as well
  size_t max_body_bytes = 3 * 1024 * 1024;    // more: Request::body_too_large; 0: a request with a body gets 413
  size_t max_drain_bytes = 16 * 1024 * 1024;  // read of a body in all, chunk sizes and trailers included; then: closed
  size_t max_stream_buffer_bytes = 64 * 1024 * 1024;  // a stream whose peer takes nothing is cut off beyond this
  std::chrono::seconds idle_timeout{300};             // between requests
  std::chrono::seconds head_timeout{10};              // a whole head
  std::chrono::seconds body_timeout{60};              // a whole body
  std::chrono::seconds handshake_timeout{10};         // TLS
  std::chrono::seconds write_timeout{60};             // one write to a peer that takes nothing
};

struct Certificate {
  std::string certificate_pem;
  std::string key_pem;
};

class Server {
 public:
  // Begins to listen. Errors name the address and what was wrong (in use, no permission, a bad certificate).
  static Result<std::unique_ptr<Server>> start(AsioReactor& reactor, ServerOptions options, Handler handler);
  virtual ~Server() = default;

  virtual uint16_t port() const = 0;
  virtual size_t connections() const = 0;
  // For connections that come from now on. On an error the one in use stays.
  virtual Result<void> set_certificate(const Certificate& certificate) = 0;
  // Stops listening and closes all connections at once. Idempotent; the destructor does it too.
  virtual void stop() = 0;
};

// Self-signed, for localhost, 127.0.0.1, ::1 and `extra_host` (may be empty), valid for ten years.
Result<Certificate> make_self_signed_certificate(const std::string& extra_host);

}  // namespace dra::http
