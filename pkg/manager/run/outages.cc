#include "pkg/manager/run/outages.h"

#include <algorithm>
#include <utility>

#include "pkg/log/log.h"

namespace dra::manager {

namespace {

// The server as a whole does not answer: what was asked does not matter.
bool is_out_of_reach(const Error& error) {
  return error.http_status() == 0;
}

std::string cause_text(const Failure& failure) {
  const Error& error = failure.error;
  if (is_out_of_reach(error)) return std::string(code_name(error.code()));
  std::string text =
      failure.what + " " + std::string(code_name(error.code())) + " " + std::to_string(error.http_status());
  // A quota concerns its namespace, and what the server cannot accept concerns whoever wrote it.
  if (error.code() == Code::kResourceExhausted || error.code() == Code::kInvalidArgument)
    text += " " + failure.object.ns;
  return text;
}

// The server understood and refused: one answer is enough to report.
bool is_plain_refusal(const Error& error) {
  return error.http_status() >= 400 && error.http_status() < 500 && error.code() != Code::kTooManyRequests;
}

}  // namespace

void Outages::failed(const std::string& item, const Failure& failure, std::function<void()> retry) {
  std::string cause = cause_text(failure);
  if (!outages_.contains(cause) && outages_.size() >= kMostCauses) cause = "other";
  const auto known = cause_of_.find(item);
  const std::string before = known != cause_of_.end() ? known->second : "";
  const bool was_tried = before == cause && outages_.at(cause).trials.contains(item);
  leave(item);
  if (before != cause) end_if_empty(before);
  auto [place, begins] = outages_.try_emplace(cause, Outage{failure, reactor_.clock().mono_now()});
  Outage& outage = place->second;
  ++outage.refused;
  cause_of_[item] = cause;
  outage.waiting[failure.object.ns].push_back({item, std::move(retry)});
  ++outage.waiting_count;
  outage.pause = std::min<Duration>(std::chrono::seconds(failure.error.retry_after_seconds()), kQuiet);
  if (was_tried) {
    outage.window = 1;
    outage.delay = std::min(outage.delay * 2, kLongestDelay);
    outage.lasting = outage.lasting || outage.delay >= kLongestDelay;
  }
  if (begins || was_tried) arm(cause, outage, std::max(outage.delay, outage.pause));
  keep_going(cause, outage);
  note_for_notify(cause, item, failure);
  if (!outage.reported && (is_plain_refusal(failure.error) || outage.refused >= 3)) report_begin(cause, outage);
}

void Outages::passed(const std::string& item) {
  const auto known = cause_of_.find(item);
  if (known == cause_of_.end()) return;
  const std::string cause = known->second;
  leave(item);
  Outage& outage = outages_.at(cause);
  if (end_if_empty(cause)) return;
  outage.window = std::min(outage.window * 2, kLargestWindow);
  outage.delay = kFirstDelay;
  arm(cause, outage, Duration::zero());
}

// The item no longer waits and is no longer on trial.
void Outages::leave(const std::string& item) {
  const auto known = cause_of_.find(item);
  if (known == cause_of_.end()) return;
  Outage& outage = outages_.at(known->second);
  cause_of_.erase(known);
  if (outage.trials.erase(item) > 0) return;
  for (auto queue = outage.waiting.begin(); queue != outage.waiting.end(); ++queue)
    if (std::erase_if(queue->second, [&](const Waiting& w) { return w.item == item; }) > 0) {
      --outage.waiting_count;
      if (queue->second.empty()) outage.waiting.erase(queue);
      return;
    }
}

void Outages::arm(const std::string& cause, Outage& outage, Duration delay) {
  outage.timer = reactor_.after(delay, [this, cause] { try_some(cause); });
  outage.armed = true;
}

void Outages::keep_going(const std::string& cause, Outage& outage) {
  if (outage.waiting_count == 0 || outage.armed) return;
  // An item that never ends its try (its controller is paused, or it is paced) must not stop the others.
  arm(cause, outage, std::max(outage.pause, outage.trials.empty() ? outage.delay : kLongestDelay));
}

size_t Outages::tries_at_once(const Outage& outage) {
  // Lasting: some items may be refused for good, and must not stop those that would be accepted by now.
  size_t least = 1;
  const Error& error = outage.first.error;
  if (outage.lasting && !is_out_of_reach(error)) {
    const bool of_the_object = is_plain_refusal(error) && error.http_status() != 403;
    least = of_the_object ? kLargestWindow : std::clamp<size_t>(outage.waiting.size(), 1, kMostNamespacesAtOnce);
  }
  return std::max(outage.window, least);
}

Outages::Waiting Outages::take_next(Outage& outage) {
  auto queue = outage.waiting.upper_bound(outage.last_namespace);
  if (queue == outage.waiting.end()) queue = outage.waiting.begin();
  outage.last_namespace = queue->first;
  Waiting next = std::move(queue->second.front());
  queue->second.pop_front();
  if (queue->second.empty()) outage.waiting.erase(queue);
  --outage.waiting_count;
  return next;
}

void Outages::try_some(std::string cause) {
  Outage& outage = outages_.at(cause);
  outage.armed = false;
  std::vector<std::function<void()>> retries;
  const size_t limit = tries_at_once(outage);
  while (outage.waiting_count > 0 && retries.size() < limit) {
    Waiting next = take_next(outage);
    outage.trials.insert(next.item);
    retries.push_back(std::move(next.retry));
  }
  keep_going(cause, outage);
  for (const auto& retry : retries) retry();
}

std::vector<std::function<void()>> Outages::drain() {
  std::vector<std::function<void()>> retries;
  for (auto& [cause, outage] : outages_)
    while (outage.waiting_count > 0) retries.push_back(take_next(outage).retry);
  outages_.clear();
  cause_of_.clear();
  return retries;
}

size_t Outages::waiting() const {
  size_t sum = 0;
  for (const auto& [cause, outage] : outages_) sum += outage.waiting_count;
  return sum;
}

void Outages::report_begin(const std::string& cause, Outage& outage) {
  const MonoTime now = reactor_.clock().mono_now();
  std::erase_if(reported_at_, [&](const auto& entry) { return now - entry.second >= kQuiet; });
  if (reported_at_.contains(cause)) return;
  reported_at_[cause] = now;
  outage.reported = true;
  const OutageReport report{false, outage.first, outage.refused, outage.waiting_count, now - outage.since};
  const reconcile::Ref& object = outage.first.object;
  log::error(outage.first.error, "The API server does not do what is asked; it is tried again at least every 8s",
             {{"what", outage.first.what}, {"first", log::ObjectRef{object.ns, object.name}}});
  if (report_) report_(report);
}

bool Outages::end_if_empty(const std::string& cause) {
  const auto found = outages_.find(cause);
  if (found == outages_.end()) return false;
  if (found->second.waiting_count > 0 || !found->second.trials.empty()) {
    keep_going(cause, found->second);
    return false;
  }
  const auto node = outages_.extract(found);
  const Outage& outage = node.mapped();
  if (!outage.reported) return true;
  const OutageReport report{true, outage.first, outage.refused, 0, reactor_.clock().mono_now() - outage.since};
  log::info("The API server does what is asked again",
            {{"what", outage.first.what}, {"refused", outage.refused}, {"lasted", report.lasted}});
  if (report_) report_(report);
  return true;
}

}  // namespace dra::manager
