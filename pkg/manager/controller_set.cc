#include "pkg/manager/controller_set.h"

#include <algorithm>

#include "controllers/all.h"
#include "pkg/log/log.h"
#include "pkg/manager/permit/permissions.h"

namespace dra::manager {

ControllerSet::ControllerSet(const ManagerOptions& options, const reconcile::Tools& tools, const Preflight& preflight,
                             Runner& runner, Instruments& instruments)
    : options_(options), preflight_(preflight), runner_(runner), instruments_(instruments) {
  const reconcile::Settings settings = settings_of(options);
  for (const reconcile::Controller* controller : all_controllers())
    made_.push_back({controller, controller->make(settings, tools)});
}

bool ControllerSet::permitted(const Made& made) const {
  return controller_runs(options_, made.described->name) && preflight_.permits(made.described->name);
}

bool ControllerSet::any_permitted() const {
  return std::any_of(made_.begin(), made_.end(), [this](const Made& made) { return permitted(made); });
}

bool ControllerSet::start_permitted() {
  bool added = false;
  for (Made& made : made_) {
    const std::string_view name = made.described->name;
    if (!permitted(made) || !started_.insert(name).second) continue;
    runner_.add(std::move(made.parts), instruments_.queue_observer(std::string(name)));
    instruments_.set_running(name, runner_.running());
    added = true;
  }
  return added;
}

void ControllerSet::pause(const std::map<reconcile::Kind, std::string>& unreadable) {
  for (const Made& made : made_) {
    const std::vector<reconcile::Kind>& kinds = made.described->must_read_all_of;
    if (kinds.empty()) continue;
    const auto kind =
        std::find_if(kinds.begin(), kinds.end(), [&](reconcile::Kind k) { return unreadable.contains(k); });
    runner_.set_blocked(made.described->name, kind != kinds.end());
    if (kind == kinds.end())
      log::info("Every object can be read, the controller goes on", {{"controller", made.described->name}});
    else
      log::warning("The controller waits while an object cannot be read",
                   {{"controller", made.described->name}, {"why", unreadable.at(*kind)}});
  }
}

void ControllerSet::pause_decisions(bool on) {
  for (const Made& made : made_) {
    const std::vector<reconcile::Kind>& kinds = made.described->must_read_all_of;
    if (std::find(kinds.begin(), kinds.end(), reconcile::Kind::kSlice) != kinds.end())
      runner_.set_blocked(made.described->name, on, "device plugins");
  }
}

void ControllerSet::show_running(bool leading) {
  for (const std::string_view controller : started_) instruments_.set_running(controller, leading);
}

}  // namespace dra::manager
