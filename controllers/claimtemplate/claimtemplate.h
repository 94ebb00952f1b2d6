// claimtemplate: pods and templates -> one claim for each template entry of a pod, and their names in the pod's status.
//
// A pass over a pod derives everything from the objects it sees: which entries have a usable claim, which claim to
// adopt, which to create, and the complete status.resourceClaimStatuses. Names are deterministic
// (pkg/reconcile/pod_claims.h), so a second create answers AlreadyExists and two managers cannot make two claims for
// one entry. Stateless, hence safe from any thread.
//
// The names of a pod that our allocation gate holds are published once its claims are allocated, together with the node
// that the allocations leave it as status.nominatedNodeName: kube-scheduler then looks at that node first and need not
// write it itself (KEP-5278). docs/decisions/names-with-the-node.md
#pragma once

#include <string>

#include "pkg/reconcile/reconciler.h"

namespace dra::claimtemplate {

struct Options {
  // Pods that this scheduling gate alone holds get their names with their node. Empty: all get them at once.
  std::string held_by_gate;
  // So long the names of a held pod wait for its claims to be allocated; then they come without a node.
  Duration patience = std::chrono::seconds(5);
};

class ClaimTemplateReconciler : public reconcile::Reconciler {
 public:
  explicit ClaimTemplateReconciler(Options options) : options_(std::move(options)) {}

  std::string_view name() const override { return "claimtemplate"; }
  reconcile::Outcome reconcile(const reconcile::View& view, const reconcile::Key& key) const override;

  void on_pod(const reconcile::View& view, const api::Pod* before, const api::Pod* after,
              reconcile::Triggers& out) const override;
  void on_claim(const reconcile::View& view, const api::ResourceClaim* before, const api::ResourceClaim* after,
                reconcile::Triggers& out) const override;
  void on_claim_template(const reconcile::View& view, const api::ResourceClaimTemplate* before,
                         const api::ResourceClaimTemplate* after, reconcile::Triggers& out) const override;

 private:
  Options options_;
};

}  // namespace dra::claimtemplate
