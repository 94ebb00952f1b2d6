// ControlPlane: the environment of a manager. One implementation is simulated and runs in this process
// (sim_control_plane.h); the other starts the real binaries (real_control_plane.h).
#pragma once

#include <memory>
#include <string>

#include "client/transport/transport.h"
#include "pkg/base/random.h"
#include "pkg/fake_scheduler/scheduler.h"
#include "test/integration/api.h"

namespace dra::integration {

using fake_scheduler::Component;
using fake_scheduler::Scheduler;
using fake_scheduler::SchedulerStats;

class ControlPlane : public Driver {
 public:
  // For one component: as an administrator, over its own connection.
  virtual client::Transport& transport() = 0;
  // Connects as the user of this token. The plane must outlive it.
  virtual std::unique_ptr<client::Transport> connect(const std::string& token) = 0;
  // Time is simulated.
  virtual bool simulated() const = 0;
  virtual Random& random() = 0;
  const Clock& clock() { return reactor().clock(); }

  // The programs that belong to this API server, ready to work. Null: it has none, and a stand-in is used. They throw
  // std::runtime_error with the end of the program's output if it does not start.
  virtual std::unique_ptr<Scheduler> own_scheduler() { return nullptr; }
  virtual std::unique_ptr<Component> own_claim_controller() { return nullptr; }
  // Objects are deleted with their owners.
  virtual bool collects_garbage() const = 0;
};

}  // namespace dra::integration
