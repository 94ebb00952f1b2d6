// Outages: what the API server refuses or does not answer, by cause, and when what failed is tried again.
//
// A cause is what was asked ("patch resourceclaims/status") and how it ended ("Unavailable 500"). Everything that fails
// for one cause waits together: after a delay (50 ms, doubling to 8 s while tries fail) one item is tried, taken
// round-robin by namespace. Each success doubles the number that is tried at once and the next follow without a delay,
// so that what piled up in an outage goes through within 10 s of its end, while a lasting one costs a request in 8 s
// instead of one for each object. What never failed is not held back: one namespace's refusals stop nobody else.
//
// Items that share a cause need not recover together. While a lasting cause is answered, one item of each namespace is
// tried in 8 s; where the answer is about the object alone (a plain refusal other than 403), 256 items. So an item that
// would be accepted by now waits 8 s for each 256 items of its cause at most, whatever becomes of the others.
//
// A cause is reported once when it begins (at its first refusal, or its third error without one) and once when it ends,
// and not more often than once a minute.
//
// Belongs to the reactor's thread. Bounded: an item waits once; 256 causes, then all others are one.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "pkg/base/error.h"
#include "pkg/reactor/reactor.h"
#include "pkg/reconcile/key.h"

namespace dra::manager {

// One request that failed.
struct Failure {
  std::string what;  // "patch resourceclaims/status"
  Error error;
  reconcile::Ref object;
};

struct OutageReport {
  bool over = false;
  Failure failure;       // the first one
  uint64_t refused = 0;  // requests that failed so far
  size_t waiting = 0;
  Duration lasted{};
};

class Outages {
 public:
  static constexpr Duration kFirstDelay = std::chrono::milliseconds(50);
  static constexpr Duration kLongestDelay = std::chrono::seconds(8);
  static constexpr size_t kLargestWindow = 256;
  static constexpr size_t kMostNamespacesAtOnce = 16;
  static constexpr size_t kMostCauses = 256;
  static constexpr Duration kQuiet = std::chrono::minutes(1);

  // The reactor must outlive this. `report` may be empty; the log has its lines either way.
  Outages(Reactor& reactor, std::function<void(const OutageReport&)> report)
      : reactor_(reactor), report_(std::move(report)) {}

  // The item failed; `retry` is called once when its turn has come (and by drain()). Never runs inside the call.
  void failed(const std::string& item, const Failure& failure, std::function<void()> retry);
  // The item ended a try, or whatever else it does, without a failure.
  void passed(const std::string& item);
  // Ends every wait; returns what waited.
  std::vector<std::function<void()>> drain();

  size_t ongoing() const { return outages_.size(); }
  size_t waiting() const;

 private:
  struct Waiting {
    std::string item;
    std::function<void()> retry;
  };
  struct Outage {
    Failure first;
    MonoTime since{};
    uint64_t refused = 0;
    bool reported = false;
    std::map<std::string, std::deque<Waiting>> waiting;  // by namespace
    std::string last_namespace;                          // whose item was tried last
    size_t waiting_count = 0;
    std::set<std::string> trials;  // tried, and not ended yet
    size_t window = 1;
    Duration delay = kFirstDelay;
    Duration pause{};  // the server's Retry-After
    Handle timer;
    bool armed = false;
    bool lasting = false;  // the delay has been the longest once
  };

  void leave(const std::string& item);
  void arm(const std::string& cause, Outage& outage, Duration delay);
  // Where something waits there is a timer, whatever becomes of the items on trial.
  void keep_going(const std::string& cause, Outage& outage);
  void try_some(std::string cause);  // a copy: the timer that holds the original is replaced
  static size_t tries_at_once(const Outage& outage);
  Waiting take_next(Outage& outage);
  void report_begin(const std::string& cause, Outage& outage);
  // Nothing waits for the cause any more: it is over. Else the others go on.
  bool end_if_empty(const std::string& cause);

  Reactor& reactor_;
  std::function<void(const OutageReport&)> report_;
  std::map<std::string, Outage> outages_;
  std::unordered_map<std::string, std::string> cause_of_;  // by item: waiting, or on trial
  std::map<std::string, MonoTime> reported_at_;
};

}  // namespace dra::manager
