// PacedTransport: another transport with manners in front of it. It obeys 429 and Retry-After for the whole client,
// keeps an optional client-side rate limit (--kube-api-qps), and reports each request to an observer (for metrics).
//
// Nothing is repeated: a 429 is passed on to the caller, and what is sent next waits until the server's pause is over.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>

#include "client/transport/transport.h"

namespace dra::client {

struct PaceOptions {
  double qps = 0;  // 0: no limit of our own
  int burst = 10;
  size_t max_waiting = 20'000;
  // Pauses longer than this are cut to it.
  Duration longest_pause = std::chrono::seconds(60);
};

// Called on the reactor's thread.
struct RequestObserver {
  // `code`: the HTTP status, or "<error>" when there was no answer. For streams: when the head is there.
  std::function<void(const std::string& method, const std::string& code, Duration took)> on_answer;
  // How long a request was held back here.
  std::function<void(const std::string& method, Duration held)> on_held;
};

class PacedTransport : public Transport {
 public:
  // `reactor` and `inner` must outlive this. Destroying it drops what waits here, without callbacks.
  PacedTransport(Reactor& reactor, Transport& inner, PaceOptions options, RequestObserver observer = {});
  ~PacedTransport() override;
  Handle send(Request request, Done done) override;
  Handle stream(Request request, StreamCallbacks callbacks) override;

  // Until when nothing is sent because the server said so; in the past when it did not.
  MonoTime paused_until() const;

  struct State;

 private:
  std::shared_ptr<State> state_;
};

}  // namespace dra::client
