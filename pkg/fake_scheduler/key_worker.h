// KeyWorker: what the stand-ins for Kubernetes' controllers share: a queue of keys, processed one after the other once
// all watches have synced. Belongs to the reactor's thread.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "pkg/queue/pump.h"
#include "pkg/queue/work_queue.h"
#include "pkg/reactor/reactor.h"

namespace dra::fake_scheduler {

class KeyWorker {
 public:
  // No key begins before `synced` returns true; call look() when its result may have changed. `work` begins a key and
  // ends, now or later, with finish(). The reactor must outlive this.
  KeyWorker(Reactor& reactor, queue::BackOff backoff, std::function<bool()> synced,
            std::function<void(const std::string& key)> work);

  void add(std::string_view key);
  // Processing of the key has ended; a failed key is queued again after its back-off.
  void finish(const std::string& key, bool ok);
  void look() { pump_.schedule(); }

 private:
  queue::Pump::Next next();
  void begin();

  queue::WorkQueue<> queue_;
  std::function<bool()> synced_;
  std::function<void(const std::string&)> work_;
  bool busy_ = false;
  queue::Pump pump_;
};

}  // namespace dra::fake_scheduler
