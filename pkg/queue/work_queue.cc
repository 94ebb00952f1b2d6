#include "pkg/queue/work_queue.h"

#include <algorithm>

#include "pkg/base/check.h"

namespace dra::queue {

Duration backoff_delay(const BackOff& backoff, uint64_t failures) {
  Duration delay = backoff.first;
  for (uint64_t i = 1; i < failures && delay < backoff.cap; ++i) delay *= 2;
  return std::min(delay, backoff.cap);
}

void WorkQueue::push_ready(std::string_view key) {
  ready_.emplace_back(key);
  if (observer_) observer_->depth_changed(ready_.size());
}

void WorkQueue::add(std::string_view key) {
  if (shutting_down_ || dirty_.contains(key)) return;
  dirty_.emplace(key, clock_.mono_now());
  if (observer_) observer_->added();
  if (!processing_.contains(key)) push_ready(key);
}

void WorkQueue::add_after(std::string_view key, Duration delay) {
  if (shutting_down_) return;
  if (delay <= Duration::zero()) return add(key);
  const std::pair<MonoTime, uint64_t> slot{clock_.mono_now() + delay, ++sequence_};
  auto known = due_of_.find(key);
  if (known == due_of_.end()) {
    due_of_.emplace(key, slot);
  } else {
    if (known->second.first <= slot.first) return;
    due_.erase(known->second);
    known->second = slot;
  }
  due_.emplace(slot, key);
}

Duration WorkQueue::add_rate_limited(std::string_view key) {
  auto known = failures_.find(key);
  if (known == failures_.end()) known = failures_.emplace(key, 0).first;
  const Duration delay = backoff_delay(backoff_, ++known->second);
  if (observer_ && !shutting_down_) observer_->retried();
  add_after(key, delay);
  return delay;
}

void WorkQueue::forget(std::string_view key) {
  if (auto known = failures_.find(key); known != failures_.end()) failures_.erase(known);
}

uint64_t WorkQueue::failures(std::string_view key) const {
  auto known = failures_.find(key);
  return known == failures_.end() ? 0 : known->second;
}

void WorkQueue::release_due() {
  const MonoTime now = clock_.mono_now();
  while (!due_.empty() && due_.begin()->first.first <= now) {
    const std::string key = std::move(due_.begin()->second);
    due_.erase(due_.begin());
    due_of_.erase(key);
    add(key);
  }
}

bool WorkQueue::has_ready() {
  release_due();
  return !ready_.empty();
}

std::optional<std::string> WorkQueue::get() {
  release_due();
  if (ready_.empty()) return std::nullopt;
  std::string key = std::move(ready_.front());
  ready_.pop_front();
  const MonoTime now = clock_.mono_now();
  auto owed = dirty_.find(key);
  DRA_CHECK(owed != dirty_.end());
  const Duration waited = now - owed->second;
  dirty_.erase(owed);
  DRA_CHECK(processing_.emplace(key, now).second);
  if (observer_) {
    observer_->depth_changed(ready_.size());
    observer_->taken(waited);
  }
  return key;
}

void WorkQueue::done(std::string_view key) {
  auto running = processing_.find(key);
  DRA_CHECK(running != processing_.end());
  const Duration worked = clock_.mono_now() - running->second;
  processing_.erase(running);
  if (observer_) observer_->finished(worked);
  if (dirty_.contains(key)) push_ready(key);
}

void WorkQueue::clear() {
  ready_.clear();
  dirty_.clear();
  due_.clear();
  due_of_.clear();
  failures_.clear();
  if (observer_) observer_->depth_changed(0);
}

void WorkQueue::shut_down() {
  shutting_down_ = true;
  due_.clear();
  due_of_.clear();
}

std::optional<MonoTime> WorkQueue::next_due() const {
  if (due_.empty()) return std::nullopt;
  return due_.begin()->first.first;
}

Duration WorkQueue::unfinished_work() const {
  const MonoTime now = clock_.mono_now();
  Duration sum{};
  for (const auto& [key, since] : processing_) sum += now - since;
  return sum;
}

Duration WorkQueue::longest_running() const {
  const MonoTime now = clock_.mono_now();
  Duration longest{};
  for (const auto& [key, since] : processing_) longest = std::max(longest, now - since);
  return longest;
}

}  // namespace dra::queue
