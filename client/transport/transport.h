// Transport: sends HTTP requests to an API server. Implementations: CurlTransport (network), InProcessTransport (a
// handler in this process), FaultTransport and PacedTransport (wrappers).
//
// Rules for every implementation:
// - All calls and callbacks happen on the reactor's thread. A callback never runs inside send() or stream().
// - Exactly one final callback (done, on_end) per call, or none if its Handle is dropped first.
// - A request is sent at most once. The only repeat is one second try after a 401, if new credentials are available (a
//   401 means that nothing was done).
// - An Error means that there was no complete HTTP answer: kUnavailable (not reached, or cut), kDeadlineExceeded,
//   kResourceExhausted (too big, or too many waiting), kCancelled (the transport was shut down), kUnauthenticated (no
//   credentials available; nothing was sent). Any HTTP status, including 4xx and 5xx, is a Response.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "pkg/base/clock.h"
#include "pkg/base/error.h"
#include "pkg/reactor/reactor.h"

namespace dra::client {

struct Request {
  std::string method = "GET";
  // Path and query, percent-encoded: "/api/v1/pods?limit=500".
  std::string target;
  std::string body;
  // Of the body; empty without one.
  std::string content_type;
  std::string accept = "application/json";
  // send(): for the whole exchange. stream(): until the head of the answer. Zero: the transport's default.
  Duration timeout{};
};

struct Response {
  int status = 0;
  std::string body;
  std::string content_type;
  // From Retry-After; 0 when absent.
  int retry_after_seconds = 0;
  // The texts of Warning headers (code 299).
  std::vector<std::string> warnings;

  bool ok() const { return status >= 200 && status < 300; }
};

// Asks a transport to read no more of a stream until the returned function is called; some messages may come all the
// same. Only CurlTransport can. Call it inside on_line, and the returned function on the reactor's thread, at any time.
using Resume = std::function<void()>;
using Hold = std::function<Resume()>;
inline Resume no_resume() {
  return [] {};
}

// The callbacks of a streamed answer, in this order: on_open once if the status is 2xx, on_line for each message,
// on_end once. A message is a line (without its newline; empty lines are skipped), or, if the Content-Type is
// Kubernetes' protobuf, a frame (without its length).
struct StreamCallbacks {
  std::function<void(const Response& head)> on_open;
  std::function<void(std::string message, const Hold& hold)> on_line;
  // A Response: the stream ended in order (status 2xx, no body), or was refused (other status, with its body). An
  // Error: it was cut, or a message was longer than the bound.
  std::function<void(Result<Response>)> on_end;
};

class Transport {
 public:
  using Done = std::function<void(Result<Response>)>;

  virtual ~Transport() = default;
  [[nodiscard]] virtual Handle send(Request request, Done done) = 0;
  [[nodiscard]] virtual Handle stream(Request request, StreamCallbacks callbacks) = 0;
};

// A message longer than this ends its stream; etcd's limit for an object is 1.5 MiB.
constexpr size_t kMaxLineBytes = 16 << 20;

}  // namespace dra::client
