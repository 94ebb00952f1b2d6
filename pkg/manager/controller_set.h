// ControllerSet: the controllers of this build: which of them run here, and which are paused. Belongs to the reactor's
// thread.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "pkg/manager/options.h"
#include "pkg/manager/permit/preflight.h"
#include "pkg/manager/report/instruments.h"
#include "pkg/manager/run/runner.h"
#include "pkg/reconcile/controller.h"

namespace dra::manager {

class ControllerSet {
 public:
  // Makes every controller; none runs yet. All must outlive this.
  ControllerSet(const ManagerOptions& options, const reconcile::Tools& tools, const Preflight& preflight,
                Runner& runner, Instruments& instruments);

  // Some controller that shall run here has the permissions it needs.
  bool any_permitted() const;
  // Starts those that shall run here, have their permissions and do not run yet. True if there are any.
  bool start_permitted();
  // Pauses each controller that must read all objects of one of these kinds (with the reason), and resumes the others.
  void pause(const std::map<reconcile::Kind, std::string>& unreadable);
  // Pauses, or resumes, those that decide about devices while it is not settled whose they are (SiliconKeeper).
  void pause_decisions(bool on);
  // The metric that says which controllers run.
  void show_running(bool leading);

 private:
  struct Made {
    const reconcile::Controller* described;
    reconcile::Parts parts;  // until it is started: then the runner has them
  };
  bool permitted(const Made& made) const;

  const ManagerOptions& options_;
  const Preflight& preflight_;
  Runner& runner_;
  Instruments& instruments_;
  std::vector<Made> made_;  // in the same order at each start
  std::set<std::string_view> started_;
};

}  // namespace dra::manager
