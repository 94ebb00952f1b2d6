// AuditedScheduler: kube-scheduler as a child process. Its writes are read from kube-apiserver's audit log, which must
// contain requests and responses for claims, claim status, pod status and bindings.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>

#include "pkg/fake_scheduler/scheduler.h"
#include "test/integration/child_process.h"

namespace dra::integration {

using fake_scheduler::Scheduler;
using fake_scheduler::SchedulerStats;

class AuditedScheduler : public Scheduler {
 public:
  // `offset`: the log's size in bytes before this scheduler started.
  AuditedScheduler(std::unique_ptr<ChildProcess> process, std::string audit_log, uint64_t offset)
      : process_(std::move(process)), log_(std::move(audit_log)), offset_(offset) {}

  SchedulerStats stats() override;

 private:
  void take(const std::string& line);

  std::unique_ptr<ChildProcess> process_;
  std::string log_;
  uint64_t offset_;  // how far the log has been read
  SchedulerStats stats_;
  std::set<std::string> allocated_;  // "<uid of the claim> <allocationTimestamp>"
};

}  // namespace dra::integration
