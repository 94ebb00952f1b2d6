// Reconciler: one function from a key, the view and a state to effects. It does no I/O and never waits. Its result
// depends on nothing but its arguments (the view has the time, View::now()) and on the options it was made with; it
// changes nothing but the state that it is handed (state.h). A protocol of several steps is derived anew from the
// objects by every reconcile.
#pragma once

#include "pkg/reconcile/effect.h"
#include "pkg/reconcile/key.h"
#include "pkg/reconcile/state.h"
#include "pkg/reconcile/view.h"

namespace dra::reconcile {

class Reconciler {
 public:
  virtual ~Reconciler() = default;
  virtual ReconcileResult reconcile(const Key& key, const View& view, State& state) const = 0;
};

}  // namespace dra::reconcile
