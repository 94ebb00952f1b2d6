// An HTTP/1.1 server on the reactor, with or without TLS (1.2 and newer): keep-alive, chunked streams.
//
// Peers are not trusted. Every received byte is counted, each head and each body has one deadline, and if there are too
// many connections, inactive ones are closed in favour of active ones.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
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
  uint16_t port = 0;                       // 0: any free port
  // PEM texts; both empty means plain HTTP.
  std::string certificate_pem;
  std::string key_pem;

  // Limits on connections: in total (at most half of the process's descriptors), per peer address, before their first
  // complete request, between or in later requests, and while the peer reads its answer. Beyond a limit, the least
  // useful connection is closed (ConnectionTable).
  size_t max_connections = 1024;
  size_t max_connections_per_peer = 1024;
  size_t max_fresh_connections = 128;
  size_t max_idle_connections = 256;
  size_t max_answering_connections = 1024;
  size_t max_received_bytes = size_t{24} << 20;  // of incomplete requests, in all connections

  // The flow of a request: flows share the handler's time equally (turns.h). Unset: one flow.
  std::function<std::string(const Request&)> flow;

  // Methods in capitals; others get 405.
  std::vector<std::string> methods{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"};
  size_t max_header_bytes = 64 * 1024;        // more: 431; includes chunk extensions and trailers
  size_t max_body_bytes = 3 * 1024 * 1024;    // more: Request::body_too_large; 0: a request with a body gets 413
  size_t max_drain_bytes = 16 * 1024 * 1024;  // bytes read of one body with its chunk framing; then: closed
  size_t max_stream_buffer_bytes = 64 * 1024 * 1024;  // beyond this a stream that is not read is cut off
  // Of all answers and streams, and of the streams alone. Beyond it, those are cut off whose peers have read nothing
  // for longest; never the only one.
  size_t max_unsent_bytes = size_t{512} << 20;
  size_t max_unsent_stream_bytes = size_t{12} << 20;
  // What the system keeps for a peer that does not read; by itself it would grow to some megabytes for each.
  int send_buffer_bytes = 128 * 1024;
  std::chrono::seconds idle_timeout{300};      // between requests
  std::chrono::seconds head_timeout{10};       // one complete head
  std::chrono::seconds body_timeout{60};       // one complete body
  std::chrono::seconds handshake_timeout{10};  // TLS
  std::chrono::seconds write_timeout{60};      // one write to a peer that does not read
};

// max_connections, or as many as leave half of the process's descriptors to the rest of it.
size_t connections_that_fit(const ServerOptions& options);

struct Certificate {
  std::string certificate_pem;
  std::string key_pem;
};

class Server {
 public:
  // Starts listening. Errors name the address and the cause (in use, no permission, a bad certificate).
  static Result<std::unique_ptr<Server>> start(AsioReactor& reactor, ServerOptions options, Handler handler);
  virtual ~Server() = default;

  virtual uint16_t port() const = 0;
  virtual size_t connections() const = 0;
  // Runs work that no request asks for among the requests, as one of this flow (turns.h). Dropped by stop().
  virtual void in_turn(std::function<void()> work, const std::string& flow) = 0;
  // For new connections. On an error the current certificate stays.
  virtual Result<void> set_certificate(const Certificate& certificate) = 0;
  // Stops listening and closes all connections immediately. Idempotent; the destructor does it too.
  virtual void stop() = 0;
};

// Self-signed, for localhost, 127.0.0.1, ::1 and `extra_host` (may be empty), valid for ten years.
Result<Certificate> make_self_signed_certificate(const std::string& extra_host);

}  // namespace dra::http
