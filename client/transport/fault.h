// FaultTransport: another transport with a bad network in front of it. What goes wrong with a request is decided by a
// plan; with a seeded plan on a simulated reactor each run goes wrong the same way.
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
    kAnswer,      // never sent; `answer` comes instead (429, 500, 409, ...)
  };
  Kind kind = Kind::kNone;
  Response answer;
  // Held back by this much on the way there and on the way back. Lines of a stream are all late by delay_answer, in
  // order.
  Duration delay_request{};
  Duration delay_answer{};
  // Streams: after this many lines the stream is cut, or stays open but silent.
  size_t cut_after_lines = std::numeric_limits<size_t>::max();
  size_t silent_after_lines = std::numeric_limits<size_t>::max();
  // Streams: every line whose number is a multiple of this comes twice (0: none).
  size_t duplicate_every = 0;
  // Streams: this line comes instead of the one that would be delivered at cut_after_lines, then the stream ends in
  // order.
  std::optional<std::string> last_line;
};

using FaultPlan = std::function<Fault(const Request& request, bool streamed)>;

// Probabilities in [0, 1] for each kind of trouble, for a plan drawn from a random source.
struct FaultRates {
  double refuse = 0;
  double lose_answer = 0;
  double hang = 0;
  double throttle = 0;      // 429 with Retry-After: 1
  double server_error = 0;  // 500
  double cut = 0;           // a stream ends within its first 20 lines
  double expire = 0;        // a stream gets the ERROR event 410 within its first 20 lines
  double silent = 0;
  double duplicate = 0;  // every third line of a stream comes twice
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
  // An empty plan: no faults from now on (calls under way keep theirs).
  void set_plan(FaultPlan plan) { plan_ = std::move(plan); }
  // Cuts every stream that is open now, as a restart of the server would.
  void cut_all_streams();

 private:
  struct Shared;
  Reactor& reactor_;
  Transport& inner_;
  FaultPlan plan_;
  std::shared_ptr<Shared> shared_;
};

}  // namespace dra::client
