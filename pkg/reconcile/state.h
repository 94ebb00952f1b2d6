// State: what a controller keeps from one reconcile or event to the next, and nothing that a restart may not lose: what
// must last is in the API's objects.
//
// A controller that keeps something derives a type of its own with a field for each thing. Controller::make makes it,
// the runner owns it and hands it to every reconcile and every event; a test hands in its own. Belongs to the reactor's
// thread.
#pragma once

#include <set>
#include <string_view>

namespace dra::reconcile {

class State {
 public:
  virtual ~State() = default;
  // From now on no events are delivered: forget what was derived from them. All objects are delivered anew before the
  // next run.
  virtual void events_end() {}
  // The names of the controllers that run here: called when they change, never during a run.
  virtual void controllers_run(const std::set<std::string_view>& /*names*/) {}
};

}  // namespace dra::reconcile
