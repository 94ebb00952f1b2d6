// defragment: advice which pods would have to move so that a pod that waits fits (--defragment=advice). What moves are
// is in docs/design/preemption.md; nobody is moved here.
//
// Keys are waiting pods. A pod that fits nowhere, and whose DeviceClasses allow it, is asked about: one question on the
// reactor's thread within the limits of preemption::Options, then ten times as long for others. The answer is valid for
// the state that it was made in, and is said again when it is another one.
//
// All must outlive the parts. One thread owns it.
#pragma once

#include "controllers/defragment/pace.h"
#include "controllers/preemption/options.h"
#include "controllers/preemption/world.h"
#include "pkg/protocol/moves.h"
#include "pkg/reconcile/parts.h"

namespace dra::defragment {

struct Options {
  preemption::Options search;  // of moves
  protocol::Defragment flag = protocol::Defragment::kOff;
  uint32_t moves_per_hour = 20;  // in all, and of a namespace without an annotation
};

struct State : reconcile::State {
  // The next question comes no earlier. Lost: it comes at once.
  WallTime next_question{};
  // What was advised. Lost: more than the limits may be advised in the hour of a restart.
  Pace pace;
};

class DefragmentReconciler : public reconcile::Reconciler {
 public:
  DefragmentReconciler(Options options, const preemption::Engines& engines)
      : options_(std::move(options)), engines_(engines) {}
  reconcile::ReconcileResult reconcile(const reconcile::Key& key, const reconcile::View& view,
                                       reconcile::State& state) const override;

 private:
  bool is_asked_about(const reconcile::View& view, const api::Pod& pod) const;
  void ask(const reconcile::View& view, const api::Pod& pod, State& state, reconcile::ReconcileResult& out) const;
  void advise(const reconcile::View& view, const api::Pod& pod, State& state, const preemption::LiveWorld& live,
              const preempt::Answer& answer, reconcile::ReconcileResult& out) const;

  const Options options_;
  const preemption::Engines engines_;
};

class DefragmentEvents : public reconcile::EventHandler {
 public:
  explicit DefragmentEvents(Options options) : options_(std::move(options)) {}
  void changed(const reconcile::Change& change, const reconcile::View& view, reconcile::State& state,
               reconcile::EnqueueRequests& out) const override;

 private:
  const Options options_;
};

reconcile::Parts parts(const Options& options, const preemption::Engines& engines);

}  // namespace dra::defragment
