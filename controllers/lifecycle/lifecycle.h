// lifecycle: frees the devices of pods that are gone or finished, and keeps claims from getting stuck.
//
// Claim keys: consumers that are gone or finished leave status.reservedFor; the last one takes the allocation along;
// the delete-protection finalizer is removed when nothing is allocated; a generated claim is deleted with its pod. Pod
// keys: a pod bound by somebody else gets its reservation. Only the API server's answer, by uid, says that a pod is
// gone. Troubles of devices in use are reported (health.h), what others allocated is noted (identities.h), and
// devices are kept for owners who ask for it (keep.h). Keeps
// nothing that decides (State); belongs to the inventory's thread.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "pkg/inventory/inventory.h"
#include "pkg/protocol/slice_changes.h"
#include "pkg/reconcile/parts.h"

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
  // Keys of NoSchedule taints of devices that do not keep this manager off them: --ignore-taints.
  std::vector<std::string> ignored_taints;
  // Before an uninstall: no devices are kept any longer.
  bool release_gates = false;
};

struct State : reconcile::State {
  void events_end() override { slices.events_end(); }

  // What was last seen of each pool, to recognise changes. Lost at a restart: every pool counts as changed once.
  protocol::SliceChanges slices;
  // When identities were noted in the last minute. Lost: as many more in this one.
  std::deque<WallTime> noted;
};

// Without an inventory, which must outlive both, troubles of devices are not reported.
class LifecycleReconciler : public reconcile::Reconciler {
 public:
  LifecycleReconciler(const Options& options, const inventory::Inventory* inventory)
      : options_(options), inventory_(inventory) {}
  reconcile::ReconcileResult reconcile(const reconcile::Key& key, const reconcile::View& view,
                                       reconcile::State& state) const override;

 private:
  const Options options_;
  const inventory::Inventory* inventory_;
};

// Its state is a lifecycle::State.
class LifecycleEvents : public reconcile::EventHandler {
 public:
  LifecycleEvents(const Options& options, const inventory::Inventory* inventory)
      : options_(options), inventory_(inventory) {}
  void changed(const reconcile::Change& change, const reconcile::View& view, reconcile::State& state,
               reconcile::EnqueueRequests& out) const override;

 private:
  const Options options_;
  const inventory::Inventory* inventory_;
};

reconcile::Parts parts(const Options& options = {}, const inventory::Inventory* inventory = nullptr);

}  // namespace dra::lifecycle
