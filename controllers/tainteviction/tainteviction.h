// tainteviction: deletes pods whose allocated devices have a NoExecute taint that the pods do not tolerate, after
// tolerationSeconds where they tolerate it for a while. As kube-controller-manager's device-taint-eviction-controller
// (KEP-5055): taints of ResourceSlices and DeviceTaintRules, the same conditions, events and metrics.
//
// Keys are pods, and rules whose status must be written (rules.h). Every reconcile derives the deadline from taint,
// allocation and pod (verdict.h); only how many pods each rule evicts is kept, and follows the events (reaches.h). The
// reconciler reads an inventory that others keep up to date; one thread owns both.
#pragma once

#include "controllers/tainteviction/reaches.h"
#include "controllers/tainteviction/verdict.h"
#include "pkg/inventory/inventory.h"
#include "pkg/protocol/slice_changes.h"
#include "pkg/reconcile/reconciler.h"

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

class TaintEvictionReconciler : public reconcile::Reconciler {
 public:
  // The inventory must outlive the reconciler.
  TaintEvictionReconciler(Options options, const inventory::Inventory& inventory)
      : options_(options), inventory_(inventory) {}

  std::string_view name() const override { return "tainteviction"; }
  reconcile::Outcome reconcile(const reconcile::View& view, const reconcile::Key& key) const override;
  reconcile::Pace pace() const override { return options_.pace; }
  void events_end() const override {
    reaches_.forget_all();
    slices_.events_end();
  }

  void on_pod(const reconcile::View& view, const api::Pod* before, const api::Pod* after,
              reconcile::EnqueueRequests& out) const override;
  void on_claim(const reconcile::View& view, const api::ResourceClaim* before, const api::ResourceClaim* after,
                reconcile::EnqueueRequests& out) const override;
  void on_slice(const reconcile::View& view, const api::ResourceSlice* before, const api::ResourceSlice* after,
                reconcile::EnqueueRequests& out) const override;
  void on_taint_rule(const reconcile::View& view, const api::DeviceTaintRule* before, const api::DeviceTaintRule* after,
                     reconcile::EnqueueRequests& out) const override;

 private:
  reconcile::Outcome reconcile_pod(const reconcile::View& view, const api::Pod& pod) const;
  reconcile::Outcome reconcile_rule(const reconcile::View& view, const api::DeviceTaintRule& rule) const;
  // Rules that wait for approval do not count. `counting` becomes true when the reach of one is still being counted: it
  // does not count either.
  RuleReading reading(const reconcile::View& view, bool& counting) const;
  // Adds the pod if it has a deadline, or had one that was announced, and the rules that evict it: their numbers
  // change.
  void add_if_concerned(const reconcile::View& view, const api::Pod& pod, reconcile::EnqueueRequests& out) const;
  // After a change of a rule that selects the claim.
  void add_pods_of_rule(const reconcile::View& view, const api::ResourceClaim& claim,
                        reconcile::EnqueueRequests& out) const;
  void add_pods_of(const reconcile::View& view, const api::ResourceClaim& claim, reconcile::EnqueueRequests& out) const;

  Options options_;
  const inventory::Inventory& inventory_;
  mutable reconcile::SliceChanges slices_;  // only recognises changes
  mutable Reaches reaches_;                 // follows the events
};

}  // namespace dra::tainteviction
