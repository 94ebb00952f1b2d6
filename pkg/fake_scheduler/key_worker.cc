#include "pkg/fake_scheduler/key_worker.h"

#include <utility>

namespace dra::fake_scheduler {

KeyWorker::KeyWorker(Reactor& reactor, queue::BackOff backoff, std::function<bool()> synced,
                     std::function<void(const std::string&)> work)
    : queue_(reactor.clock(), backoff),
      synced_(std::move(synced)),
      work_(std::move(work)),
      pump_(
          reactor, [this] { return next(); }, [this] { begin(); }) {}

void KeyWorker::add(std::string_view key) {
  queue_.add(std::string(key));
  look();
}

void KeyWorker::finish(const std::string& key, bool ok) {
  busy_ = false;
  if (ok)
    queue_.forget(key);
  else
    queue_.add_rate_limited(key);
  queue_.done(key);
  look();
}

queue::Pump::Next KeyWorker::next() {
  if (busy_ || !synced_()) return {};
  const bool ready = queue_.has_ready();  // makes ready what is due
  return {ready, queue_.next_due()};
}

void KeyWorker::begin() {
  if (busy_ || !synced_()) return;
  const auto key = queue_.get();
  if (!key) return;
  busy_ = true;
  work_(*key);
}

}  // namespace dra::fake_scheduler
