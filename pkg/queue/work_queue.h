// WorkQueue: which keys want a pass, and when. The queue of k8s.io/client-go/util/workqueue with its three promises:
//
//   - a key that was added is handed out at least once after the add (no lost update),
//   - a key is handed out to one worker at a time,
//   - any number of adds before a hand-out collapse into one.
//
// Ready keys are handed out round-robin by group (their namespace, say), by priority within one, then in the order of
// adding; at most so many keys of one group are processed at a time.
//
// Three sets carry the promises: the line of ready keys (pkg/base/fair_line.h), `dirty` (a pass is owed) and
// `processing` (a pass is under way). A fourth holds keys for later; of two due times of one key the earlier one
// counts. Retries back off per key only, 5 ms doubling to 60 s; there is no bucket shared by all keys, so that one
// failing object cannot slow down others.
//
// Not thread-safe: one thread (the reactor's) owns it. It never blocks and sets no timers: the owner calls get() until
// it answers nothing, and again at next_due(). Its size is bounded by the number of distinct keys that were added.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "pkg/base/clock.h"
#include "pkg/base/fair_line.h"
#include "pkg/base/strings.h"

namespace dra::queue {

struct BackOff {
  Duration first = std::chrono::milliseconds(5);
  Duration cap = std::chrono::seconds(60);
};

// The delay before the attempt that follows `failures` failures in a row (0 counts as 1): first * 2^(failures-1), at
// most cap.
Duration backoff_delay(const BackOff& backoff, uint64_t failures);

// What upstream's workqueue_* metrics are made of. Calls come synchronously from the queue's methods.
class Observer {
 public:
  virtual ~Observer() = default;
  virtual void added() = 0;                           // workqueue_adds_total
  virtual void retried() = 0;                         // workqueue_retries_total
  virtual void taken(Duration waited) = 0;            // workqueue_queue_duration_seconds
  virtual void finished(Duration worked) = 0;         // workqueue_work_duration_seconds
  virtual void depth_changed(size_t ready_keys) = 0;  // workqueue_depth
};

// Which keys share turns, and how many of a group are processed at a time. The default: one group, no limit.
struct Fairness {
  std::function<Place(std::string_view key)> place_of;
  size_t most_of_a_group = SIZE_MAX;
};

class WorkQueue {
 public:
  // `clock` (and `observer`, where there is one) must outlive the queue.
  explicit WorkQueue(const Clock& clock, BackOff backoff = {}, Observer* observer = nullptr, Fairness fairness = {})
      : clock_(clock), backoff_(backoff), observer_(observer), fairness_(std::move(fairness)) {}
  WorkQueue(const WorkQueue&) = delete;
  WorkQueue& operator=(const WorkQueue&) = delete;

  // The key wants a pass now. Nothing happens after shut_down().
  void add(std::string_view key);
  // The key wants a pass after `delay`; at once when that is zero or less.
  void add_after(std::string_view key, Duration delay);
  // A pass failed: counts the failure and adds the key after its back-off, which is returned.
  Duration add_rate_limited(std::string_view key);
  // A pass succeeded: the next failure starts again at the shortest delay.
  void forget(std::string_view key);
  // Failures in a row of this key.
  uint64_t failures(std::string_view key) const;

  // The key whose turn it is, now marked as being processed; nothing when no key is ready. Every key got must be given
  // back with done().
  std::optional<std::string> get();
  // The pass is over; a key that was added meanwhile is ready again.
  void done(std::string_view key);
  // The pass is over, but the key stays taken until done(): it no longer counts against its group, nor as work.
  void hold(std::string_view key);

  // Forgets every key that waits, ready or for later, and all failures. Keys that were got are given back as usual.
  void clear();
  // No more adds; what is ready may still be got. Keys waiting for later are dropped.
  void shut_down();
  bool shutting_down() const { return shutting_down_; }
  // Shut down and nothing left, neither ready nor being processed.
  bool drained() const { return shutting_down_ && line_.size() == 0 && processing_.empty(); }

  // When the earliest key waiting for later becomes ready; nothing when none waits.
  std::optional<MonoTime> next_due() const;
  bool has_ready();
  size_t depth() const { return line_.size(); }
  size_t delayed() const { return due_.size(); }
  size_t processing() const { return processing_.size(); }
  // workqueue_unfinished_work_seconds and workqueue_longest_running_processor_seconds.
  Duration unfinished_work() const;
  Duration longest_running() const;

 private:
  using KeySet = std::unordered_set<std::string, StringHash, std::equal_to<>>;
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
  bool shutting_down_ = false;
  Fairness fairness_;
  FairLine line_;
  KeyMap<MonoTime> dirty_;  // -> when it was added, for the waiting time
  KeyMap<Work> processing_;
  std::map<std::string, size_t> processing_of_;  // by group
  KeyMap<uint64_t> failures_;
  // Keys for later: by due time, in the order of adding among equals; and the way back from a key.
  std::map<std::pair<MonoTime, uint64_t>, std::string> due_;
  KeyMap<std::pair<MonoTime, uint64_t>> due_of_;
  uint64_t sequence_ = 0;
};

}  // namespace dra::queue
