// lifecycle: frees the devices of pods that are gone or finished, and keeps claims from getting stuck.
//
// Claim keys: consumers that are gone or finished leave status.reservedFor; the last one takes the allocation along;
// the delete-protection finalizer is removed when nothing is allocated; a generated claim is deleted with its pod. Pod
// keys: a pod bound by somebody else gets its reservation. Only the API server's answer, by uid, says that a pod is
// gone. Troubles of devices in use are reported (health.h). Keeps nothing that decides; belongs to the inventory's
// thread.
#pragma once

#include "pkg/inventory/inventory.h"
#include "pkg/protocol/slice_changes.h"
#include "pkg/reconcile/reconciler.h"

namespace dra::lifecycle {

struct Options {
  // How long a state must have lasted before it is acted upon: zero when this controller alone is responsible, longer
  // when it only backs up kube-controller-manager's resourceclaim-controller.
  Duration grace{};
  // How long to leave a finalizer without an allocation on a claim that is not being deleted: kube-scheduler writes the
  // finalizer first and the allocation right after.
  Duration finalizer_grace = std::chrono::seconds(5);
  // After this time without a change a generated claim whose pod is gone is deleted here, although that is the garbage
  // collector's work. Its devices are freed long before: that does not wait for the claim's deletion.
  Duration orphan_after = std::chrono::seconds(30);
  // After this time without a change our allocation is withdrawn if no pod reserved it or could still use it.
  Duration sweep_after = std::chrono::seconds(60);
  // How long a claim that a pod may use unseen, because not all of the pod's claims are kept, waits for the next look.
  Duration unseen_retry = std::chrono::seconds(60);
};

class LifecycleReconciler : public reconcile::Reconciler {
 public:
  // Without an inventory, which must outlive it, troubles of devices are not reported.
  explicit LifecycleReconciler(Options options = {}, const inventory::Inventory* inventory = nullptr)
      : options_(options), inventory_(inventory) {}
  std::string_view name() const override { return "lifecycle"; }
  reconcile::Outcome reconcile(const reconcile::View& view, const reconcile::Key& key) const override;

  void events_end() const override { slices_.events_end(); }

  void on_pod(const reconcile::View& view, const api::Pod* before, const api::Pod* after,
              reconcile::EnqueueRequests& out) const override;
  void on_claim(const reconcile::View& view, const api::ResourceClaim* before, const api::ResourceClaim* after,
                reconcile::EnqueueRequests& out) const override;
  void on_slice(const reconcile::View& view, const api::ResourceSlice* before, const api::ResourceSlice* after,
                reconcile::EnqueueRequests& out) const override;

 private:
  Options options_;
  const inventory::Inventory* inventory_;
  mutable reconcile::SliceChanges slices_;  // only recognises changes
};

}  // namespace dra::lifecycle
