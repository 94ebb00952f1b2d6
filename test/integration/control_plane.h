// ControlPlane: the world a manager runs in. One implementation is simulated and lives in this process; the other
// starts the real binaries (real_control_plane.h).
#pragma once

#include <memory>
#include <string>

#include "client/transport/transport.h"
#include "pkg/base/random.h"
#include "test/integration/api.h"

namespace dra::integration {

class ControlPlane : public Driver {
 public:
  // For a component of its own: as an administrator, over a connection of its own.
  virtual client::Transport& transport() = 0;
  // Time is simulated, and stand-ins play scheduler, claim controller and kubelets.
  virtual bool simulated() const = 0;
};

}  // namespace dra::integration
