// WorkQueue: which keys need a reconcile, and when. It gives the three guarantees of k8s.io/client-go/util/workqueue:
//
//   - a key is handed out at least once after it was added (no lost update),
//   - a key is handed out to one worker at a time,
//   - any number of adds before a hand-out collapse into one.
//
// Ready keys are handed out round-robin by group (their namespace, say), within a group by priority, then in the order
// of adding. The number of keys of one group processed at a time is limited.
//
// Three sets implement the guarantees: the line of ready keys (pkg/base/fair_line.h), `dirty` (a reconcile is owed) and
// `processing` (a reconcile is running). A fourth contains delayed keys; if a key has two due times, the earlier one
// counts. Retries back off per key only, 5 ms doubling to 60 s; there is no bucket shared by all keys, so one failing
// object cannot slow down others.
//
// Not thread-safe: one thread (the reactor's) owns it. It never blocks and sets no timers: the owner calls get() until
// it returns nullopt, and again at next_due(). Its size is bounded by the number of distinct keys added.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory_resource>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "pkg/base/clock.h"
#include "pkg/base/fair_line.h"
#include "pkg/base/strings.h"

namespace dra::queue {

struct BackOff {
  Duration first = std::chrono::milliseconds(5);
  Duration cap = std::chrono::seconds(60);
};

// The delay before the attempt that follows `failures` consecutive failures (0 counts as 1): first * 2^(failures-1), at
// most cap.
Duration backoff_delay(const BackOff& backoff, uint64_t failures);

// The source of upstream's workqueue_* metrics. The queue's methods call it synchronously.
class Observer {
 public:
  virtual ~Observer() = default;
  virtual void added() = 0;                           // workqueue_adds_total
  virtual void retried() = 0;                         // workqueue_retries_total
  virtual void taken(Duration waited) = 0;            // workqueue_queue_duration_seconds
  virtual void finished(Duration worked) = 0;         // workqueue_work_duration_seconds
  virtual void depth_changed(size_t ready_keys) = 0;  // workqueue_depth
};

// How keys are grouped, and how many of a group are processed at a time. The default: one group, no limit.
struct Fairness {
  std::function<Place(std::string_view key)> place_of;
  size_t most_of_a_group = SIZE_MAX;
};

class WorkQueue {
 public:
  // `clock` (and `observer`, if set) must outlive the queue.
  explicit WorkQueue(const Clock& clock, BackOff backoff = {}, Observer* observer = nullptr, Fairness fairness = {})
      : clock_(clock), backoff_(backoff), observer_(observer), fairness_(std::move(fairness)) {}
  WorkQueue(const WorkQueue&) = delete;
  WorkQueue& operator=(const WorkQueue&) = delete;

  // The key needs a reconcile now.
  void add(std::string_view key);
  // The key needs a reconcile after `delay`; immediately if `delay` is zero or less.
  void add_after(std::string_view key, Duration delay);
  // A reconcile failed: counts the failure, adds the key after its back-off, and returns the back-off.
  Duration add_rate_limited(std::string_view key);
  // A reconcile succeeded: the next failure starts again at the shortest delay.
  void forget(std::string_view key);
  // Consecutive failures of this key.
  uint64_t failures(std::string_view key) const;

  // The key whose turn it is, now marked as processing; nullopt if no key is ready. Call done() for every key
  // returned.
  std::optional<std::string> get();
  // The reconcile is over; a key added meanwhile is ready again.
  void done(std::string_view key);
  // The reconcile is over, but the key stays processing until done(): it no longer counts as work or against its group.
  void pause(std::string_view key);

  // Removes every waiting key, ready or delayed, and all failure counts. Keys being processed still need done().
  void clear();

  // When the earliest delayed key becomes ready; nullopt if there is none.
  std::optional<MonoTime> next_due() const;
  bool has_ready();
  size_t depth() const { return line_.size(); }
  size_t delayed() const { return due_.size(); }
  size_t processing() const { return processing_.size(); }
  // workqueue_unfinished_work_seconds and workqueue_longest_running_processor_seconds.
  Duration unfinished_work() const;
  Duration longest_running() const;

 private:
  template <typename V>
  using KeyMap = std::unordered_map<std::string, V, StringHash, std::equal_to<>>;

  struct Work {
    MonoTime since{};  // when it was handed out
    std::string group;
    bool held = false;
  };

  void release_due();
  void push_ready(std::string_view key);
  void leave_group(const Work& work);

  const Clock& clock_;
  BackOff backoff_;
  Observer* observer_;
  Fairness fairness_;
  FairLine line_;
  KeyMap<MonoTime> dirty_;  // -> when it was added, for the waiting time
  KeyMap<Work> processing_;
  std::map<std::string, size_t> processing_of_;  // by group
  KeyMap<uint64_t> failures_;
  // Delayed keys, and an index by due time, then in the order of adding. Keys can be delayed for minutes: between
  // pieces of short-lived objects they would keep whole pages.
  using Slot = std::pair<MonoTime, uint64_t>;
  std::pmr::unsynchronized_pool_resource delayed_pool_;
  std::pmr::unordered_map<std::pmr::string, Slot, StringHash, std::equal_to<>> due_of_{&delayed_pool_};
  std::pmr::map<Slot, const std::pmr::string*> due_{&delayed_pool_};
  uint64_t sequence_ = 0;
};

}  // namespace dra::queue
