// Outages: groups requests that the API server refuses or does not answer by cause, and says when to retry them.
//
// A cause is the request ("patch resourceclaims/status") and its result ("Unavailable 500"). All items that fail for
// one cause wait together: after a delay (50 ms, doubling to 8 s while tries fail) one item is tried, round-robin by
// namespace. Each success doubles the number tried at once, and the next tries follow without a delay. So the backlog
// of an outage goes through within 10 s of its end, while a lasting outage costs one request in 8 s instead of one per
// object. Items that never failed are not delayed: one namespace's refusals stop nobody else.
//
// Items that share a cause need not recover together. While the server answers for a lasting cause, one item each of up
// to 16 namespaces is tried every 8 s. If the answer is about the object alone (a plain refusal other than 403), 256
// items are: an item that would now be accepted waits at most 8 s per 256 items of its cause.
//
// A cause is reported once when it begins (at its first refusal, or its third error without one) and once when it ends,
// and at most once a minute.
//
// Users look at their pods: once an outage at which the server answers has lasted for kLongWait, each item that waits
// for it is notified once, kNotifiedPerSecond at most, round-robin by namespace; items that come later too, and those
// that wait for another one's try (the members of a group, for the member that is reconciled for all). What the server
// cannot accept at all is not notified: its writer gets each refusal as an answer.
//
// Belongs to the reactor's thread. Bounded: an item waits once; beyond 256 causes all others count as one.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
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
  static constexpr Duration kLongWait = std::chrono::seconds(15);
  static constexpr int kNotifiedPerSecond = 10;
  // Of one outage; further ones are not.
  static constexpr size_t kMostNotified = 65'536;

  // The reactor must outlive this. `report` may be empty; the log gets its lines either way.
  Outages(Reactor& reactor, std::function<void(const OutageReport&)> report)
      : reactor_(reactor), report_(std::move(report)) {}

  // The item failed. `retry` runs once, when the item's turn comes (or in drain()); never inside the call.
  void failed(const std::string& item, const Failure& failure, std::function<void()> retry);
  // The item ended a try, or anything else, without a failure. Needs no call while nothing waits or is tried.
  void passed(const std::string& item);
  bool any_waits() const { return !cause_of_.empty(); }
  // Called for each item that waits for long, with the item whose try it waits for (mostly itself), the last failure in
  // its namespace and how long the outage has lasted.
  using Notify = std::function<void(const std::string& item, const std::string& waits_for, const Failure& failure,
                                    Duration lasted)>;
  // The items, of the same namespace, that wait for this one's try; asked at each failure.
  using Companions = std::function<std::vector<std::string>(const std::string& item)>;
  void notify_waiting(Notify notify, Companions companions) {
    notify_ = std::move(notify);
    companions_ = std::move(companions);
  }
  // Ends every wait; returns the retries that waited.
  std::vector<std::function<void()>> drain();

  size_t ongoing() const { return outages_.size(); }
  size_t waiting() const;

 private:
  struct Waiting {
    std::string item;
    std::function<void()> retry;
  };
  struct ToNotify {
    std::string item, waits_for;
  };
  struct Outage {
    Failure first;
    MonoTime since{};
    uint64_t refused = 0;
    bool reported = false;
    std::map<std::string, std::deque<Waiting>> waiting;  // by namespace
    std::string last_namespace;                          // of the item tried last
    size_t waiting_count = 0;
    std::set<std::string> trials;  // being tried
    size_t window = 1;
    Duration delay = kFirstDelay;
    Duration pause{};  // the server's Retry-After
    Handle timer;
    bool armed = false;
    bool lasting = false;                                   // the delay has reached its maximum
    std::map<std::string, std::deque<ToNotify>> to_notify;  // by namespace
    std::map<std::string, Failure> last;                    // by namespace
    std::unordered_set<std::string> noted;                  // items that were or are in to_notify
  };

  void leave(const std::string& item);
  void arm(const std::string& cause, Outage& outage, Duration delay);
  // Keeps a timer armed while something waits, whatever happens to the items on trial.
  void keep_going(const std::string& cause, Outage& outage);
  void try_some(std::string cause);  // a copy: the timer that holds the original is replaced
  static size_t tries_at_once(const Outage& outage);
  Waiting take_next(Outage& outage);
  void note_for_notify(const std::string& cause, const std::string& item, const Failure& failure);
  void arm_notify();
  void notify_one();
  void report_begin(const std::string& cause, Outage& outage);
  // Ends the cause if nothing waits for it any more; otherwise the others continue.
  bool end_if_empty(const std::string& cause);

  Reactor& reactor_;
  std::function<void(const OutageReport&)> report_;
  std::map<std::string, Outage> outages_;
  std::unordered_map<std::string, std::string> cause_of_;  // by item, waiting or on trial
  std::map<std::string, MonoTime> reported_at_;
  Notify notify_;
  Companions companions_;
  Handle notify_timer_;
  bool notify_armed_ = false;
  std::string notified_namespace_;  // of the item notified last
  std::optional<MonoTime> notified_at_;
};

}  // namespace dra::manager
