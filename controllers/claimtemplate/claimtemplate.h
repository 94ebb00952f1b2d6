// claimtemplate: pods and templates -> one claim for each template entry of a pod, and their names in the pod's status.
//
// A reconcile of a pod derives everything from the objects: which entries have a usable claim, which claim to adopt,
// which to create, and the complete status.resourceClaimStatuses. Names are deterministic (pkg/protocol/pod_claims.h),
// so a second create gets AlreadyExists and two managers cannot make two claims for one entry. Keeps nothing, hence
// safe from any thread.
//
// For a pod that our allocation gate holds, the names are published once its claims are allocated. With them goes
// status.nominatedNodeName, the node that the allocations leave it: kube-scheduler then tries that node first and need
// not write it itself (KEP-5278). docs/decisions/names-with-the-node.md
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "pkg/reconcile/parts.h"

namespace dra::claimtemplate {

struct Options {
  // Pods held only by this scheduling gate get their names together with their node. Empty: all get them at once.
  std::string held_by_gate;
  // How long to wait for a gated pod's claims to be allocated before publishing the claim names without a node: if an
  // event says why the pod waits, and if none does, because its turn has not come yet.
  Duration patience = std::chrono::seconds(5);
  Duration patience_for_its_turn = std::chrono::seconds(30);
  // Pods that this manager binds: no other scheduler has a reason to write their status.
  std::vector<std::string> scheduler_names;
};

class ClaimTemplateReconciler : public reconcile::Reconciler {
 public:
  explicit ClaimTemplateReconciler(Options options) : options_(std::move(options)) {}
  reconcile::ReconcileResult reconcile(const reconcile::Key& key, const reconcile::View& view,
                                       reconcile::State&) const override;

 private:
  const Options options_;
};

class ClaimTemplateEvents : public reconcile::EventHandler {
 public:
  explicit ClaimTemplateEvents(Options options) : options_(std::move(options)) {}
  void changed(const reconcile::Change& change, const reconcile::View& view, reconcile::State&,
               reconcile::EnqueueRequests& out) const override;

 private:
  const Options options_;
};

reconcile::Parts parts(const Options& options);

}  // namespace dra::claimtemplate
