// KeyWorker: what the stand-ins for Kubernetes' controllers have in common: a queue of keys, one worked off after the
// other once everything that is watched is known. Belongs to the reactor's thread.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "pkg/queue/pump.h"
#include "pkg/queue/work_queue.h"
#include "pkg/reactor/reactor.h"

namespace dra::standin {

class KeyWorker {
 public:
  // No key is begun before `synced`: whoever changes what that answers calls look(). `work` begins a key and ends, now
  // or later, with finish(). The reactor must outlive this.
  KeyWorker(Reactor& reactor, queue::BackOff backoff, std::function<bool()> synced,
            std::function<void(const std::string& key)> work);

  void add(std::string_view key);
  // The key that is worked on is done; one that failed comes again after its back-off.
  void finish(const std::string& key, bool ok);
  void look() { pump_.schedule(); }

 private:
  queue::Pump::Next next();
  void begin();

  queue::WorkQueue queue_;
  std::function<bool()> synced_;
  std::function<void(const std::string&)> work_;
  bool busy_ = false;
  queue::Pump pump_;
};

}  // namespace dra::standin
