// StepRunner: runs the passes of a simulated component for the keys in its queue and performs their requests.
//
// One pass per key at a time; at most `max_passes` at once; after a refused request the pass runs again after a
// back-off. Belongs to the reactor's thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "client/transport/transport.h"
#include "pkg/queue/pump.h"
#include "pkg/queue/work_queue.h"
#include "pkg/reactor/reactor.h"
#include "pkg/sandbox/step.h"

namespace dra::sandbox {

struct SimulationStats {
  uint64_t passes = 0;
  uint64_t calls = 0;
  uint64_t refused = 0;  // calls that did not succeed
};

class StepRunner {
 public:
  struct Hooks {
    std::function<bool()> ready;                  // no pass runs before it is true
    std::function<Step(const std::string&)> run;  // the pass of one key
    // The answer of a call that succeeded, so that the next pass sees it before a watch delivers it.
    std::function<void(const ApiCall&, const client::Response&)> answered;
  };
  // Everything must outlive it.
  StepRunner(Reactor& reactor, client::Transport& transport, size_t max_passes, Hooks hooks);
  ~StepRunner();
  StepRunner(const StepRunner&) = delete;
  StepRunner& operator=(const StepRunner&) = delete;

  void start() { running_ = true; }
  // Passes in progress are abandoned.
  void stop();
  void add(const std::string& key);
  void schedule() { pump_.schedule(); }
  const SimulationStats& stats() const { return stats_; }

 private:
  struct Pass;

  queue::Pump::Next next();
  void begin_passes();
  void perform(const std::string& key, Step step);
  void call_done(const std::shared_ptr<Pass>& pass, const ApiCall& call, const Result<client::Response>& result);

  Reactor& reactor_;
  client::Transport& transport_;
  const size_t max_passes_;
  Hooks hooks_;
  queue::WorkQueue<> queue_;
  SimulationStats stats_;
  bool running_ = false;
  std::map<std::string, std::shared_ptr<Pass>> passes_;
  queue::Pump pump_;
};

}  // namespace dra::sandbox
