// tainteviction: deletes pods whose allocated devices have a NoExecute taint that the pods do not tolerate, after
// tolerationSeconds where they tolerate it for a while. As kube-controller-manager's device-taint-eviction-controller
// (KEP-5055): taints of ResourceSlices and DeviceTaintRules, the same conditions, events and metrics.
//
// Keys are pods, and rules whose status must be written (rules.h). Every reconcile derives the deadline from taint,
// allocation and pod (verdict.h); only how many pods each rule evicts is kept (State), and follows the events. The
// inventory is kept up to date by others; one thread owns all of this.
#pragma once

#include "controllers/tainteviction/reaches.h"
#include "controllers/tainteviction/verdict.h"
#include "pkg/inventory/inventory.h"
#include "pkg/protocol/slice_changes.h"
#include "pkg/reconcile/parts.h"

namespace dra::tainteviction {

struct Options {
  // How long past its deadline a pod is left to another eviction controller: zero when this one alone is responsible.
  // With a grace period nothing is announced.
  Duration grace{};
  // Evictions per second, and how many at once. 0: no limit.
  reconcile::Pace pace{50, 50};
  // Off: an event reports a pod that is still there after the grace period; nothing is written to pods.
  bool evicts = true;
  // A rule that would evict more pods than this first waits for an annotation (rules.h). 0: no limit.
  uint64_t max_evictions_per_rule = 0;
};

struct State : reconcile::State {
  void events_end() override {
    reaches.forget_all();
    slices.events_end();
  }

  // What was last seen of each pool, to recognise changes. Lost at a restart: every pool counts as changed once.
  protocol::SliceChanges slices;
  // How many pods each rule evicts. Lost at a restart: counted again from the claims before the rule evicts.
  Reaches reaches;
};

// The state of both is a tainteviction::State; the inventory must outlive them.
class TaintEvictionReconciler : public reconcile::Reconciler {
 public:
  TaintEvictionReconciler(const Options& options, const inventory::Inventory& inventory)
      : options_(options), inventory_(inventory) {}
  reconcile::ReconcileResult reconcile(const reconcile::Key& key, const reconcile::View& view,
                                       reconcile::State& state) const override;

 private:
  reconcile::ReconcileResult reconcile_pod(const reconcile::View& view, const api::Pod& pod, Reaches& reaches) const;
  reconcile::ReconcileResult reconcile_rule(const reconcile::View& view, const api::DeviceTaintRule& rule,
                                            Reaches& reaches) const;
  // Rules that wait for approval do not count. `counting` becomes true when the reach of one is still being counted: it
  // does not count either.
  RuleReading reading(const reconcile::View& view, Reaches& reaches, bool& counting) const;

  const Options options_;
  const inventory::Inventory& inventory_;
};

class TaintEvictionEvents : public reconcile::EventHandler {
 public:
  TaintEvictionEvents(const Options& options, const inventory::Inventory& inventory)
      : options_(options), inventory_(inventory) {}
  void changed(const reconcile::Change& change, const reconcile::View& view, reconcile::State& state,
               reconcile::EnqueueRequests& out) const override;

 private:
  void on_pod(const reconcile::View& view, const reconcile::Changed<api::Pod>& change, State& state,
              reconcile::EnqueueRequests& out) const;
  void on_claim(const reconcile::View& view, const reconcile::Changed<api::ResourceClaim>& change, State& state,
                reconcile::EnqueueRequests& out) const;
  void on_slice(const reconcile::View& view, const reconcile::Changed<api::ResourceSlice>& change, State& state,
                reconcile::EnqueueRequests& out) const;
  void on_taint_rule(const reconcile::View& view, const reconcile::Changed<api::DeviceTaintRule>& change, State& state,
                     reconcile::EnqueueRequests& out) const;
  // Adds the pod if it has a deadline, or had one that was announced, and the rules that evict it: their numbers
  // change.
  void add_if_concerned(const reconcile::View& view, const api::Pod& pod, reconcile::EnqueueRequests& out) const;
  // After a change of a rule that selects the claim.
  void add_pods_of_rule(const reconcile::View& view, const api::ResourceClaim& claim,
                        reconcile::EnqueueRequests& out) const;
  void add_pods_of(const reconcile::View& view, const api::ResourceClaim& claim, reconcile::EnqueueRequests& out) const;

  const Options options_;
  const inventory::Inventory& inventory_;
};

reconcile::Parts parts(const Options& options, const inventory::Inventory& inventory);

}  // namespace dra::tainteviction
