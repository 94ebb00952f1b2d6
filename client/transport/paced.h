// PacedTransport: wraps another transport with rate limits. It obeys 429 and Retry-After for the whole client, keeps an
// optional client-side rate limit (--kube-api-qps), and reports each request to an observer (for metrics).
//
// It repeats nothing: a 429 goes to the caller, and later requests wait until the server's pause is over.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>

#include "client/transport/transport.h"

namespace dra::client {

struct PaceOptions {
  double qps = 0;  // 0: no client-side limit
  int burst = 10;
  size_t max_waiting = 20'000;
  // Longer pauses are reduced to this.
  Duration longest_pause = std::chrono::seconds(60);
};

// Called on the reactor's thread.
struct RequestObserver {
  // `code`: the HTTP status, or "<error>" without an answer. For streams: called when the head arrives.
  std::function<void(const std::string& method, const std::string& code, Duration took)> on_answer;
  // How long a request waited here.
  std::function<void(const std::string& method, Duration held)> on_held;
};

class PacedTransport : public Transport {
 public:
  // `reactor` and `inner` must outlive this. Destroying it drops waiting requests without callbacks.
  PacedTransport(Reactor& reactor, Transport& inner, PaceOptions options, RequestObserver observer = {});
  ~PacedTransport() override;
  Handle send(Request request, Done done) override;
  Handle stream(Request request, StreamCallbacks callbacks) override;

  // The end of the pause requested by the server; in the past if there is none.
  MonoTime paused_until() const;

  struct State;

 private:
  std::shared_ptr<State> state_;
};

}  // namespace dra::client
