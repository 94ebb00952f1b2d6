// Notifies items that wait for an outage for long (Outages::notify_waiting).
#include <algorithm>
#include <utility>

#include "pkg/manager/run/outages.h"

namespace dra::manager {

namespace {

constexpr Duration kNotifyPause = std::chrono::milliseconds(1000 / Outages::kNotifiedPerSecond);

// A server that is out of reach gets no events and no conditions. What it cannot accept, and a quota, is said with each
// refusal.
bool is_said_otherwise(const Error& error) {
  return error.http_status() == 0 || error.code() == Code::kInvalidArgument ||
         (error.code() == Code::kResourceExhausted && error.http_status() == 403);
}

}  // namespace

void Outages::note_for_notify(const std::string& cause, const std::string& item, const Failure& failure) {
  if (!notify_ || is_said_otherwise(failure.error)) return;
  Outage& outage = outages_.at(cause);
  const std::string& ns = failure.object.ns;
  outage.last.insert_or_assign(ns, failure);
  const auto note = [&](const std::string& one) {
    if (outage.noted.size() < kMostNotified && outage.noted.insert(one).second)
      outage.to_notify[ns].push_back({one, item});
  };
  note(item);
  if (companions_)
    for (const std::string& one : companions_(item)) note(one);
  arm_notify();
}

void Outages::arm_notify() {
  if (notify_armed_) return;
  const MonoTime now = reactor_.clock().mono_now();
  std::optional<MonoTime> due;
  for (const auto& [cause, outage] : outages_)
    if (!outage.to_notify.empty() && (!due || outage.since + kLongWait < *due)) due = outage.since + kLongWait;
  if (!due) return;
  if (notified_at_) due = std::max(*due, *notified_at_ + kNotifyPause);
  notify_timer_ = reactor_.after(std::max<Duration>(*due - now, Duration::zero()), [this] { notify_one(); });
  notify_armed_ = true;
}

void Outages::notify_one() {
  notify_armed_ = false;
  const MonoTime now = reactor_.clock().mono_now();
  while (true) {
    // The next namespace after the last one, in whichever outage.
    Outage* chosen = nullptr;
    const std::string* cause = nullptr;
    std::map<std::string, std::deque<ToNotify>>::iterator line;
    const auto is_later = [&](const std::string& a, const std::string& b) {
      const bool a_again = a <= notified_namespace_, b_again = b <= notified_namespace_;
      return a_again != b_again ? a_again : a > b;
    };
    for (auto& [name, outage] : outages_) {
      if (outage.to_notify.empty() || now - outage.since < kLongWait) continue;
      auto next = outage.to_notify.upper_bound(notified_namespace_);
      if (next == outage.to_notify.end()) next = outage.to_notify.begin();
      if (chosen != nullptr && !is_later(line->first, next->first)) continue;
      chosen = &outage, cause = &name, line = next;
    }
    if (chosen == nullptr) break;
    notified_namespace_ = line->first;
    const auto [item, waits_for] = std::move(line->second.front());
    line->second.pop_front();
    if (line->second.empty()) chosen->to_notify.erase(line);
    const auto waits = cause_of_.find(waits_for);
    if (waits == cause_of_.end() || waits->second != *cause) {
      chosen->noted.erase(item);  // it went through meanwhile
      continue;
    }
    notified_at_ = now;
    notify_(item, waits_for, chosen->last.at(notified_namespace_), now - chosen->since);
    break;
  }
  arm_notify();
}

}  // namespace dra::manager
