// Scheduler: what tests and the sandbox need from a cluster's scheduler, be it kube-scheduler itself or its stand-in.
#pragma once

#include <cstdint>
#include <string>

namespace dra::fake_scheduler {

// Counts since the scheduler was started.
struct SchedulerStats {
  uint64_t claim_writes = 0;   // of any kind, including refused ones
  uint64_t allocations = 0;    // claims it allocated itself
  uint64_t deallocations = 0;  // PostFilter
  uint64_t nominations = 0;    // nodes it wrote to status.nominatedNodeName of pods
  uint64_t failures = 0;       // refused writes of claims and bindings
  std::string last_failure;    // the API server's message
};

// A part of the cluster that runs until it is destroyed.
class Component {
 public:
  virtual ~Component() = default;
};

class Scheduler : public Component {
 public:
  virtual SchedulerStats stats() = 0;
};

}  // namespace dra::fake_scheduler
