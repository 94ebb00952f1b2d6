#include "pkg/queue/work_queue.h"

#include <algorithm>
#include <utility>

#include "pkg/base/check.h"

namespace dra::queue {

Duration backoff_delay(const BackOff& backoff, uint64_t failures) {
  Duration delay = backoff.first;
  for (uint64_t i = 1; i < failures && delay < backoff.cap; ++i) delay *= 2;
  return std::min(delay, backoff.cap);
}

void WorkQueue::push_ready(std::string_view key) {
  line_.push(std::string(key), fairness_.place_of ? fairness_.place_of(key) : Place{});
  if (observer_) observer_->depth_changed(line_.size());
}

void WorkQueue::add(std::string_view key) {
  if (dirty_.contains(key)) return;
  dirty_.emplace(key, clock_.mono_now());
  if (observer_) observer_->added();
  if (!processing_.contains(key)) push_ready(key);
}

void WorkQueue::add_after(std::string_view key, Duration delay) {
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

Duration WorkQueue::add_rate_limited(std::string_view key) {
  auto known = failures_.find(key);
  if (known == failures_.end()) known = failures_.emplace(key, 0).first;
  const Duration delay = backoff_delay(backoff_, ++known->second);
  if (observer_) observer_->retried();
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
    const std::string key(*due_.begin()->second);
    due_.erase(due_.begin());
    due_of_.erase(due_of_.find(std::string_view(key)));
    add(key);
  }
}

bool WorkQueue::has_ready() {
  release_due();
  return line_.ready();
}

std::optional<std::string> WorkQueue::get() {
  release_due();
  std::optional<FairLine::Taken> taken = line_.pop();
  if (!taken) return std::nullopt;
  std::string key = std::move(taken->key);
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

void WorkQueue::done(std::string_view key) {
  auto running = processing_.find(key);
  DRA_CHECK(running != processing_.end());
  const Work work = std::move(running->second);
  processing_.erase(running);
  if (!work.held) leave_group(work);
  if (dirty_.contains(key)) push_ready(key);
}

void WorkQueue::pause(std::string_view key) {
  auto running = processing_.find(key);
  DRA_CHECK(running != processing_.end());
  if (std::exchange(running->second.held, true)) return;
  leave_group(running->second);
}

void WorkQueue::leave_group(const Work& work) {
  const auto group = processing_of_.find(work.group);
  if (group->second-- == fairness_.most_of_a_group) line_.unblock(group->first);
  if (group->second == 0) processing_of_.erase(group);
  if (observer_) observer_->finished(clock_.mono_now() - work.since);
}

void WorkQueue::clear() {
  line_.clear();
  dirty_.clear();
  due_.clear();
  due_of_.clear();
  failures_.clear();
  if (observer_) observer_->depth_changed(0);
}

std::optional<MonoTime> WorkQueue::next_due() const {
  if (due_.empty()) return std::nullopt;
  return due_.begin()->first.first;
}

Duration WorkQueue::unfinished_work() const {
  const MonoTime now = clock_.mono_now();
  Duration sum{};
  for (const auto& [key, work] : processing_)
    if (!work.held) sum += now - work.since;
  return sum;
}

Duration WorkQueue::longest_running() const {
  const MonoTime now = clock_.mono_now();
  Duration longest{};
  for (const auto& [key, work] : processing_)
    if (!work.held) longest = std::max(longest, now - work.since);
  return longest;
}

}  // namespace dra::queue
