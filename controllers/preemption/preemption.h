// preemption: takes the place of pods of lower priority for pods, and groups, that this manager binds and that fit
// nowhere (--preemption=on). docs/design/preemption.md, "Carrying it out", has the rules T1 to T7 and why they hold.
//
// Keys are waiting pods; of a group the one that has its promise, or would have it, acts for all. Every reconcile
// derives the step from the objects: a pod without a promise chooses and writes it down; a promise is proven; then one
// victim goes for each run, after everything was looked at again; the promise ends when the pod is bound or when it no
// longer stands. Devices are kept for a promise by the controller allocation.
//
// All must outlive the parts. One thread owns it.
#pragma once

#include <string>

#include "controllers/preemption/options.h"
#include "controllers/preemption/world.h"
#include "pkg/reconcile/parts.h"

namespace dra::preemption {

struct State : reconcile::State {
  // The next question of a pod without a promise comes no earlier: questions take at most a tenth of the time. Lost:
  // the first question comes at once.
  WallTime next_question{};
  // The same for pods with a promise, which are asked about more often.
  WallTime next_look{};
};

class PreemptionReconciler : public reconcile::Reconciler {
 public:
  PreemptionReconciler(Options options, const Engines& engines) : options_(std::move(options)), engines_(engines) {}
  reconcile::ReconcileResult reconcile(const reconcile::Key& key, const reconcile::View& view,
                                       reconcile::State& state) const override;

 private:
  void choose(const reconcile::View& view, const api::Pod& pod, reconcile::ReconcileResult& out) const;
  void go_on(const reconcile::View& view, const api::Pod& pod, reconcile::ReconcileResult& out) const;
  void evict(const reconcile::View& view, const api::Pod& pod, const LiveWorld& live, const preempt::Answer& answer,
             reconcile::ReconcileResult& out) const;

  const Options options_;
  const Engines engines_;
};

class PreemptionEvents : public reconcile::EventHandler {
 public:
  explicit PreemptionEvents(Options options) : options_(std::move(options)) {}
  void changed(const reconcile::Change& change, const reconcile::View& view, reconcile::State& state,
               reconcile::EnqueueRequests& out) const override;

 private:
  const Options options_;
};

reconcile::Parts parts(const Options& options, const Engines& engines);

}  // namespace dra::preemption
