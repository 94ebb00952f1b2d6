// An HTTP/1.1 server on the reactor, with or without TLS: keep-alive, chunked streams, bounded everything.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "pkg/base/error.h"
#include "pkg/http/message.h"

namespace dra {
class AsioReactor;
}

namespace dra::http {

struct ServerOptions {
  std::string bind_address = "127.0.0.1";
  uint16_t port = 0;  // 0: any free one
  // PEM texts; both empty means plain HTTP.
  std::string certificate_pem;
  std::string key_pem;

  size_t max_connections = 1024;              // further ones are closed at once
  size_t max_header_bytes = 64 * 1024;        // more: 431
  size_t max_body_bytes = 3 * 1024 * 1024;    // more: Request::body_too_large
  size_t max_drain_bytes = 64 * 1024 * 1024;  // how much of a too large body is read before the connection is closed
  size_t max_stream_buffer_bytes = 64 * 1024 * 1024;  // a stream whose peer takes nothing is cut off beyond this
  std::chrono::seconds idle_timeout{300};             // between requests
  std::chrono::seconds read_timeout{60};              // headers, body, each
  std::chrono::seconds handshake_timeout{10};         // TLS
  std::chrono::seconds write_timeout{60};             // one write to a peer that takes nothing
};

class Server {
 public:
  // Begins to listen. Errors name the address and what was wrong (in use, no permission, a bad certificate).
  static Result<std::unique_ptr<Server>> start(AsioReactor& reactor, ServerOptions options, Handler handler);
  virtual ~Server() = default;

  virtual uint16_t port() const = 0;
  virtual size_t connections() const = 0;
  // Stops listening and closes all connections at once. Idempotent; the destructor does it too.
  virtual void stop() = 0;
};

// A self-signed certificate for localhost, 127.0.0.1, ::1 and `extra_host` (may be empty), valid for ten years.
struct Certificate {
  std::string certificate_pem;
  std::string key_pem;
};
Result<Certificate> make_self_signed_certificate(const std::string& extra_host);

}  // namespace dra::http
