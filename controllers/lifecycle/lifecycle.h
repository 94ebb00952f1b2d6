// lifecycle: gives devices back, and keeps claims from being stuck.
//
// Claim keys: consumers that are gone or finished leave status.reservedFor, the last one takes the allocation with it,
// the delete-protection finalizer goes when nothing is allocated, and a generated claim is deleted with its pod. Pod
// keys: a pod that was bound by somebody else gets its reservation. What is gone is judged by uid and only on the word
// of the server. What is wrong with devices in use is told (health.h). Stateless; safe where the inventory may be read.
#pragma once

#include "pkg/inventory/inventory.h"
#include "pkg/reconcile/reconciler.h"

namespace dra::lifecycle {

struct Options {
  // How long a state must have stood before it is acted upon: zero when this controller alone is responsible, longer
  // when it only backs up kube-controller-manager's resourceclaim-controller.
  Duration grace{};
  // A finalizer without an allocation on a claim that lives on is left for this long: kube-scheduler writes the
  // finalizer first and the allocation right after.
  Duration finalizer_grace = std::chrono::seconds(5);
  // After this time without a change a generated claim whose pod object is gone is deleted although that is the garbage
  // collector's work. Its devices are free long before: that does not wait for the claim to go.
  Duration orphan_after = std::chrono::seconds(30);
  // After this time without a change an allocation of ours that nobody reserved or could still use is withdrawn.
  Duration sweep_after = std::chrono::seconds(60);
};

class LifecycleReconciler : public reconcile::Reconciler {
 public:
  // Without an inventory, which must outlive it, nothing is told about devices.
  explicit LifecycleReconciler(Options options = {}, const inventory::Inventory* inventory = nullptr)
      : options_(options), inventory_(inventory) {}
  std::string_view name() const override { return "lifecycle"; }
  reconcile::Outcome reconcile(const reconcile::View& view, const reconcile::Key& key) const override;

  void on_pod(const reconcile::View& view, const api::Pod* before, const api::Pod* after,
              reconcile::Triggers& out) const override;
  void on_claim(const reconcile::View& view, const api::ResourceClaim* before, const api::ResourceClaim* after,
                reconcile::Triggers& out) const override;
  void on_slice(const reconcile::View& view, const api::ResourceSlice* before, const api::ResourceSlice* after,
                reconcile::Triggers& out) const override;

 private:
  Options options_;
  const inventory::Inventory* inventory_;
};

}  // namespace dra::lifecycle
