#include "test/integration/key_worker.h"

#include <utility>

namespace dra::integration {

namespace {

constexpr Duration kSyncLook = std::chrono::milliseconds(20);

}  // namespace

KeyWorker::KeyWorker(Reactor& reactor, queue::BackOff backoff, std::function<bool()> synced,
                     std::function<void(const std::string&)> work)
    : reactor_(reactor), queue_(reactor.clock(), backoff), synced_(std::move(synced)), work_(std::move(work)) {}

KeyWorker::~KeyWorker() {
  *alive_ = false;
}

void KeyWorker::add(std::string_view key) {
  queue_.add(key);
  schedule();
}

void KeyWorker::finish(const std::string& key, bool ok) {
  busy_ = false;
  if (ok)
    queue_.forget(key);
  else
    queue_.add_rate_limited(key);
  queue_.done(key);
  schedule();
}

void KeyWorker::schedule() {
  if (busy_) return;  // finish() leads back here
  if (queue_.has_ready() && !pump_posted_) {
    pump_posted_ = true;
    reactor_.post([this, alive = alive_] {
      if (!*alive) return;
      pump_posted_ = false;
      pump();
    });
  }
  if (const auto due = queue_.next_due())
    timer_ = reactor_.after(*due - reactor_.clock().mono_now(), [this] { schedule(); });
}

void KeyWorker::pump() {
  if (busy_) return;
  if (!synced_()) {
    timer_ = reactor_.after(kSyncLook, [this] { schedule(); });
    return;
  }
  const auto key = queue_.get();
  if (!key) return;
  busy_ = true;
  work_(*key);
}

}  // namespace dra::integration
