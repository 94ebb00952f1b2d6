// claimtemplate: pods and templates -> one claim for each template entry of a pod, and their names in the pod's status.
//
// A reconcile of a pod derives everything from the objects: which entries have a usable claim, which claim to adopt,
// which to create, and the complete status.resourceClaimStatuses. Names are deterministic (pkg/protocol/pod_claims.h),
// so a second create gets AlreadyExists and two managers cannot make two claims for one entry. Stateless, hence safe
// from any thread.
//
// For a pod that our allocation gate holds, the names are published once its claims are allocated. With them goes
// status.nominatedNodeName, the node that the allocations leave it: kube-scheduler then tries that node first and need
// not write it itself (KEP-5278). docs/decisions/names-with-the-node.md
#pragma once

#include <string>
#include <vector>

#include "pkg/reconcile/reconciler.h"

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

  std::string_view name() const override { return "claimtemplate"; }
  reconcile::Outcome reconcile(const reconcile::View& view, const reconcile::Key& key) const override;

  void on_pod(const reconcile::View& view, const api::Pod* before, const api::Pod* after,
              reconcile::EnqueueRequests& out) const override;
  void on_claim(const reconcile::View& view, const api::ResourceClaim* before, const api::ResourceClaim* after,
                reconcile::EnqueueRequests& out) const override;
  void on_claim_template(const reconcile::View& view, const api::ResourceClaimTemplate* before,
                         const api::ResourceClaimTemplate* after, reconcile::EnqueueRequests& out) const override;
  void on_group(const reconcile::View& view, std::string_view group, reconcile::EnqueueRequests& out) const override;

 private:
  Options options_;
};

}  // namespace dra::claimtemplate
