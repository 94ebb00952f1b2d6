// P2, P3 and P5: what is allocated is proven and marked, or withdrawn.
#include "controllers/allocation/pod_reconcile.h"

#include <algorithm>

#include "pkg/reconcile/pod_claims.h"
#include "pkg/reconcile/proof.h"
#include "pkg/reconcile/writes.h"

namespace dra::allocation {

using namespace reconcile;

PodReconcile::Conflicts PodReconcile::conflicts_of_allocated() const {
  std::vector<std::string> uids;
  for (const ClaimState& claim : state_.claims)
    if (claim.allocated()) uids.push_back(claim.claim->metadata.uid);
  return inventory_.over_commitments(uids, inventory::Layer::kObserved);
}

// Withdrawing helps only where an allocation of ours stands in the overlap itself: to withdraw the sibling of one
// that stays would only begin the same over again.
void PodReconcile::yield_to(const Conflicts& conflicts) {
  const bool helps = std::any_of(state_.claims.begin(), state_.claims.end(), [&](const ClaimState& claim) {
    return withdrawable(claim) &&
           std::any_of(conflicts.begin(), conflicts.end(), [&](const inventory::AuditFinding& conflict) {
             return std::find(conflict.claims.begin(), conflict.claims.end(), claim.claim->metadata.uid) !=
                    conflict.claims.end();
           });
  });
  if (helps && withdraw()) return count_failure("LostRace");
  waits("DeviceConflict", "held back: " + conflicts.front().message, conflicts.front().message);
  outcome_.look_again_in(std::chrono::seconds(30));
}

void PodReconcile::prove() {
  // A claim that another pod is reserved for is proven by the reconciles of that pod.
  for (const ClaimState& claim : state_.claims)
    if (claim.needs_proof() && !claim.in_stream) return;  // the stream brings the key back
  if (const Conflicts conflicts = conflicts_of_allocated(); !conflicts.empty()) return yield_to(conflicts);
  if (role_ != Role::kBoundBare) {
    const NodeChoice choice = candidate_nodes();
    if (choice.nodes.empty() && (releasing() ? withdraw() : give_back())) return;
    if (choice.nodes.empty() && !releasing()) return no_node(choice);
  }
  if (role_ == Role::kExplain) return;  // nothing stands in the way of a proof, and nobody writes one here
  for (const ClaimState& claim : state_.claims) {
    if (!claim.needs_proof()) continue;
    const api::ResourceClaim& object = *claim.claim;
    std::vector<std::string> finalizers = object.metadata.finalizers;
    if (!object.metadata.has_finalizer(api::kDeleteProtectionFinalizer))
      finalizers.emplace_back(api::kDeleteProtectionFinalizer);
    outcome_.add(
        write_metadata(object, finalizers,
                       {{std::string(kProofAnnotation), proof_value(pod_.metadata.uid, *object.status.allocation)},
                        {std::string(kProvenForAnnotation), pod_.metadata.name}},
                       "prove"));
  }
}

bool PodReconcile::withdrawable(const ClaimState& claim) const {
  if (role_ == Role::kExplain) return false;  // observe mode writes nothing but events
  // What was allocated for another pod is that pod's to give back.
  if (!claim.reserved && !claim.claim->status.reserved_for.empty()) return false;
  return may_withdraw(view_, claim, options_);
}

bool PodReconcile::withdraw() {
  bool any = false;
  for (const ClaimState& claim : state_.claims) {
    if (!withdrawable(claim)) continue;
    Write write = write_deallocation(*claim.claim, "withdraw");
    write.release_pod = pod_.metadata.uid;
    outcome_.add(std::move(write));
    any = true;
  }
  if (any) outcome_.hold = retreat_delay(pod_, state_);
  return any;
}

}  // namespace dra::allocation
