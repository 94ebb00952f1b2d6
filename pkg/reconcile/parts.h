// Parts: a controller as the runner takes it: the function that reconciles a key, the handler that maps changes to
// keys, and the state that both are handed. Plain data.
//
//   runner.add(lifecycle::parts(options, &inventory));
#pragma once

#include <memory>
#include <string_view>

#include "pkg/reconcile/event_handler.h"
#include "pkg/reconcile/reconciler.h"
#include "pkg/reconcile/state.h"

namespace dra::reconcile {

// How many paced outcomes (ReconcileResult::paced) are performed; per_second 0 means no limit. The live GETs that one
// run of a key asks for and its actions on their answers count once.
struct Pace {
  double per_second = 0;
  double burst = 1;
};

// None is null: a controller that keeps nothing has a plain State.
struct Parts {
  std::string_view name;  // of its queue in metrics, and of the controller in --controllers; outlives the parts
  std::unique_ptr<const Reconciler> reconciler;
  std::unique_ptr<const EventHandler> events;
  std::unique_ptr<State> state = std::make_unique<State>();
  Pace pace{};
};

}  // namespace dra::reconcile
