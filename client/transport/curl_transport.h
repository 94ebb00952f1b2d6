// CurlTransport: HTTP over the network by libcurl on the reactor. Connections are reused.
//
// Requests use HTTP/2 where TLS negotiates it, HTTP/1.1 otherwise. At most max_in_flight are in flight (fewer if the
// server speaks HTTP/1.1, where each needs a connection); others wait, in order within a namespace; namespaces take
// turns, and none takes the last few places.
//
// Each stream has an HTTP/1.1 connection of its own (docs/decisions/a-nudge-for-http2.md); streams do not count as
// requests in flight.
//
// Destroying the transport drops all its calls without callbacks; do not destroy it inside a callback.
#pragma once

#include <memory>
#include <string>

#include "client/config/server_config.h"
#include "client/transport/transport.h"

namespace dra::client {

struct CurlOptions {
  std::string user_agent = "dra-controller-manager";
  size_t max_in_flight = 64;
  size_t max_in_flight_http1 = 24;
  size_t max_streams = 200;
  size_t max_waiting = 20'000;
  size_t max_body_bytes = size_t{1} << 30;
  Duration default_timeout = std::chrono::seconds(30);
  Duration connect_timeout = std::chrono::seconds(10);
};

class CurlTransport : public Transport {
 public:
  // `reactor` must outlive this and every Handle it returned.
  CurlTransport(Reactor& reactor, ServerConfig config, CurlOptions options = {});
  ~CurlTransport() override;
  CurlTransport(const CurlTransport&) = delete;
  CurlTransport& operator=(const CurlTransport&) = delete;

  Handle send(Request request, Done done) override;
  Handle stream(Request request, StreamCallbacks callbacks) override;

  size_t in_flight() const;
  size_t waiting() const;
  // Connections opened so far.
  uint64_t connections() const;

  class Impl;

 private:
  std::shared_ptr<Impl> requests_;
  std::shared_ptr<Impl> streams_;
};

}  // namespace dra::client
