// FaultTransport: wraps another transport in a bad network. A plan decides the fault of each request; with a seeded
// plan on a simulated reactor every run has the same faults.
#pragma once

#include <functional>
#include <limits>
#include <memory>
#include <optional>

#include "client/transport/transport.h"
#include "pkg/base/random.h"

namespace dra::client {

struct Fault {
  enum class Kind {
    kNone,
    kRefuse,      // never sent: connection refused
    kLoseAnswer,  // performed, but the answer is lost: connection reset
    kHang,        // performed, but the answer never comes: kDeadlineExceeded after the request's time limit
    kAnswer,      // never sent; the caller gets `answer` instead (429, 500, 409, ...)
  };
  Kind kind = Kind::kNone;
  Response answer;
  // Delays on the way to the server and back. All lines of a stream are delayed by delay_answer, in
  // order.
  Duration delay_request{};
  Duration delay_answer{};
  // Streams: after this many lines the stream is cut, or stays open but silent.
  size_t cut_after_lines = std::numeric_limits<size_t>::max();
  size_t silent_after_lines = std::numeric_limits<size_t>::max();
  // Streams: every line whose number is a multiple of this is delivered twice (0: none).
  size_t duplicate_every = 0;
  // Streams: replaces the line due at cut_after_lines; then the stream ends in
  // order.
  std::optional<std::string> last_line;
};

using FaultPlan = std::function<Fault(const Request& request, bool streamed)>;

// The probability in [0, 1] of each kind of fault, for a plan drawn from a random source.
struct FaultRates {
  double refuse = 0;
  double lose_answer = 0;
  double hang = 0;
  double throttle = 0;      // 429 with Retry-After: 1
  double server_error = 0;  // 500
  double cut = 0;           // a stream ends within its first 20 lines
  double expire = 0;        // a stream gets the ERROR event 410 within its first 20 lines
  double silent = 0;
  double duplicate = 0;  // every third line of a stream is delivered twice
  Duration max_delay{};  // each way, uniform
};
// `random` must outlive the plan.
FaultPlan random_faults(Random& random, FaultRates rates);

class FaultTransport : public Transport {
 public:
  // `inner` and `reactor` must outlive this.
  FaultTransport(Reactor& reactor, Transport& inner, FaultPlan plan);
  ~FaultTransport() override;
  Handle send(Request request, Done done) override;
  Handle stream(Request request, StreamCallbacks callbacks) override;
  // An empty plan: no faults from now on (calls in progress keep theirs).
  void set_plan(FaultPlan plan) { plan_ = std::move(plan); }
  // Cuts every open stream, as a restart of the server would.
  void cut_all_streams();

 private:
  struct Shared;
  Reactor& reactor_;
  Transport& inner_;
  FaultPlan plan_;
  std::shared_ptr<Shared> shared_;
};

}  // namespace dra::client
