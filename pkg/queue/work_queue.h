// WorkQueue: which keys need a reconcile, and when. A key is any value that ItemTraits knows (item.h). It gives the
// three guarantees of k8s.io/client-go/util/workqueue:
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
#include <unordered_map>
#include <utility>

#include "pkg/base/check.h"
#include "pkg/base/clock.h"
#include "pkg/base/fair_line.h"
#include "pkg/queue/item.h"

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
template <typename Key = std::string>
struct Fairness {
  std::function<Place(const Key& key)> place_of;
  size_t most_of_a_group = SIZE_MAX;
};

template <typename Key = std::string>
class WorkQueue {
 public:
  // `clock` (and `observer`, if set) must outlive the queue.
  explicit WorkQueue(const Clock& clock, BackOff backoff = {}, Observer* observer = nullptr,
                     Fairness<Key> fairness = {})
      : clock_(clock), backoff_(backoff), observer_(observer), fairness_(std::move(fairness)) {}
  WorkQueue(const WorkQueue&) = delete;
  WorkQueue& operator=(const WorkQueue&) = delete;

  // The key needs a reconcile now.
  void add(const Key& key);
  // The key needs a reconcile after `delay`; immediately if `delay` is zero or less.
  void add_after(const Key& key, Duration delay);
  // A reconcile failed: counts the failure, adds the key after its back-off, and returns the back-off.
  Duration add_rate_limited(const Key& key);
  // A reconcile succeeded: the next failure starts again at the shortest delay.
  void forget(const Key& key);
  // Consecutive failures of this key.
  uint64_t failures(const Key& key) const;

  // The key whose turn it is, now marked as processing; nullopt if no key is ready. Call done() for every key
  // returned.
  std::optional<Key> get();
  // The reconcile is over; a key added meanwhile is ready again.
  void done(const Key& key);
  // The reconcile is over, but the key stays processing until done(): it no longer counts as work or against its group.
  void pause(const Key& key);

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
  using Traits = ItemTraits<Key>;
  using Pooled = typename Traits::Pooled;
  template <typename V>
  using KeyMap = std::unordered_map<Key, V, typename Traits::Hash, typename Traits::Equal>;

  struct Work {
    MonoTime since{};  // when it was handed out
    std::string group;
    bool held = false;
  };

  void release_due();
  void push_ready(const Key& key);
  void leave_group(const Work& work);

  const Clock& clock_;
  BackOff backoff_;
  Observer* observer_;
  Fairness<Key> fairness_;
  FairLine<Key> line_;
  KeyMap<MonoTime> dirty_;  // -> when it was added, for the waiting time
  KeyMap<Work> processing_;
  std::map<std::string, size_t> processing_of_;  // by group
  KeyMap<uint64_t> failures_;
  // Delayed keys, and an index by due time, then in the order of adding.
  using Slot = std::pair<MonoTime, uint64_t>;
  std::pmr::unsynchronized_pool_resource delayed_pool_;
  std::pmr::unordered_map<Pooled, Slot, typename Traits::Hash, typename Traits::Equal> due_of_{&delayed_pool_};
  std::pmr::map<Slot, const Pooled*> due_{&delayed_pool_};
  uint64_t sequence_ = 0;
};

template <typename Key>
void WorkQueue<Key>::push_ready(const Key& key) {
  line_.push(key, fairness_.place_of ? fairness_.place_of(key) : Place{});
  if (observer_) observer_->depth_changed(line_.size());
}

template <typename Key>
void WorkQueue<Key>::add(const Key& key) {
  if (dirty_.contains(key)) return;
  dirty_.emplace(key, clock_.mono_now());
  if (observer_) observer_->added();
  if (!processing_.contains(key)) push_ready(key);
}

template <typename Key>
void WorkQueue<Key>::add_after(const Key& key, Duration delay) {
  if (delay <= Duration::zero()) return add(key);
  const Slot slot{clock_.mono_now() + delay, ++sequence_};
  auto known = due_of_.find(key);
  if (known == due_of_.end()) {
    known = due_of_.emplace(key, slot).first;
  } else {
    if (known->second.first <= slot.first) return;
    due_.erase(known->second);
    known->second = slot;
  }
  due_.emplace(slot, &known->first);
}

template <typename Key>
Duration WorkQueue<Key>::add_rate_limited(const Key& key) {
  auto known = failures_.find(key);
  if (known == failures_.end()) known = failures_.emplace(key, 0).first;
  const Duration delay = backoff_delay(backoff_, ++known->second);
  if (observer_) observer_->retried();
  add_after(key, delay);
  return delay;
}

template <typename Key>
void WorkQueue<Key>::forget(const Key& key) {
  if (auto known = failures_.find(key); known != failures_.end()) failures_.erase(known);
}

template <typename Key>
uint64_t WorkQueue<Key>::failures(const Key& key) const {
  auto known = failures_.find(key);
  return known == failures_.end() ? 0 : known->second;
}

template <typename Key>
void WorkQueue<Key>::release_due() {
  const MonoTime now = clock_.mono_now();
  while (!due_.empty() && due_.begin()->first.first <= now) {
    const Key key = Traits::item(*due_.begin()->second);
    due_.erase(due_.begin());
    due_of_.erase(due_of_.find(key));
    add(key);
  }
}

template <typename Key>
bool WorkQueue<Key>::has_ready() {
  release_due();
  return line_.ready();
}

template <typename Key>
std::optional<Key> WorkQueue<Key>::get() {
  release_due();
  auto taken = line_.pop();
  if (!taken) return std::nullopt;
  Key key = std::move(taken->key);
  const MonoTime now = clock_.mono_now();
  auto owed = dirty_.find(key);
  DRA_CHECK(owed != dirty_.end());
  const Duration waited = now - owed->second;
  dirty_.erase(owed);
  if (++processing_of_[taken->group] == fairness_.most_of_a_group) line_.block(taken->group);
  DRA_CHECK(processing_.emplace(key, Work{now, std::move(taken->group)}).second);
  if (observer_) {
    observer_->depth_changed(line_.size());
    observer_->taken(waited);
  }
  return key;
}

template <typename Key>
void WorkQueue<Key>::done(const Key& key) {
  auto running = processing_.find(key);
  DRA_CHECK(running != processing_.end());
  const Work work = std::move(running->second);
  processing_.erase(running);
  if (!work.held) leave_group(work);
  if (dirty_.contains(key)) push_ready(key);
}

template <typename Key>
void WorkQueue<Key>::pause(const Key& key) {
  auto running = processing_.find(key);
  DRA_CHECK(running != processing_.end());
  if (std::exchange(running->second.held, true)) return;
  leave_group(running->second);
}

template <typename Key>
void WorkQueue<Key>::leave_group(const Work& work) {
  const auto group = processing_of_.find(work.group);
  if (group->second-- == fairness_.most_of_a_group) line_.unblock(group->first);
  if (group->second == 0) processing_of_.erase(group);
  if (observer_) observer_->finished(clock_.mono_now() - work.since);
}

template <typename Key>
void WorkQueue<Key>::clear() {
  line_.clear();
  dirty_.clear();
  due_.clear();
  due_of_.clear();
  failures_.clear();
  if (observer_) observer_->depth_changed(0);
}

template <typename Key>
std::optional<MonoTime> WorkQueue<Key>::next_due() const {
  if (due_.empty()) return std::nullopt;
  return due_.begin()->first.first;
}

template <typename Key>
Duration WorkQueue<Key>::unfinished_work() const {
  const MonoTime now = clock_.mono_now();
  Duration sum{};
  for (const auto& [key, work] : processing_)
    if (!work.held) sum += now - work.since;
  return sum;
}

template <typename Key>
Duration WorkQueue<Key>::longest_running() const {
  const MonoTime now = clock_.mono_now();
  Duration longest{};
  for (const auto& [key, work] : processing_)
    if (!work.held) longest = std::max(longest, now - work.since);
  return longest;
}

}  // namespace dra::queue
