// P2, P3 and P5: proves and marks allocations, or withdraws them.
#include "controllers/allocation/pod/pod_reconcile.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "pkg/protocol/pod_claims.h"
#include "pkg/protocol/proof.h"
#include "pkg/protocol/users.h"
#include "pkg/protocol/writes.h"

namespace dra::allocation {

using namespace reconcile;

PodReconcile::Conflicts PodReconcile::conflicts_of_allocated() const {
  std::vector<std::string> uids;
  for (const ClaimState& claim : state_.claims)
    if (claim.allocated()) uids.push_back(claim.claim->metadata.uid);
  return inventory_.over_commitments(uids, inventory::Layer::kObserved);
}

bool PodReconcile::stays(const inventory::AuditFinding& conflict) const {
  const auto is_of_this_pod = [&](const api::ResourceClaim& claim) {
    return std::any_of(state_.claims.begin(), state_.claims.end(),
                       [&](const ClaimState& own) { return own.claim->metadata.uid == claim.metadata.uid; });
  };
  return std::none_of(conflict.claims.begin(), conflict.claims.end(), [&](const std::string& uid) {
    const api::ResourceClaim* claim = view_.allocated_claim(uid);
    return claim != nullptr && is_allocated_by_us(*claim) && !is_of_this_pod(*claim) && !is_proven(*claim);
  });
}

PodReconcile::Conflicts PodReconcile::those_that_stay(Conflicts conflicts) const {
  // Findings about the counters of a device name the same claims: hundreds of findings, thousands of look-ups.
  std::vector<bool> stay;
  for (size_t i = 0; i < conflicts.size(); ++i)
    stay.push_back(i > 0 && conflicts[i].claims == conflicts[i - 1].claims ? stay[i - 1] : stays(conflicts[i]));
  Conflicts lasting;
  for (size_t i = 0; i < conflicts.size(); ++i)
    if (stay[i]) lasting.push_back(std::move(conflicts[i]));
  return lasting;
}

// Withdrawing helps only if an allocation of ours is part of the overlap itself: withdrawing the sibling of one that
// stays would only repeat the conflict.
void PodReconcile::withdraw_for(const Conflicts& conflicts) {
  const bool helps = std::any_of(state_.claims.begin(), state_.claims.end(), [&](const ClaimState& claim) {
    return withdrawable(claim) &&
           std::any_of(conflicts.begin(), conflicts.end(), [&](const inventory::AuditFinding& conflict) {
             return std::find(conflict.claims.begin(), conflict.claims.end(), claim.claim->metadata.uid) !=
                    conflict.claims.end();
           });
  });
  if (helps && withdraw()) return count_failure("LostRace");
  // Proven, and somebody outside the protocol allocated the same devices since; the gate still holds the pod.
  std::vector<ClaimState> in_conflict;
  for (const ClaimState& claim : state_.claims)
    if (claim.ours && claim.proven && std::any_of(conflicts.begin(), conflicts.end(), [&](const auto& conflict) {
          return std::binary_search(conflict.claims.begin(), conflict.claims.end(), claim.claim->metadata.uid) &&
                 stays(conflict);
        }))
      in_conflict.push_back(claim);
  const bool left = leave_unlisted(in_conflict);
  if (announce_leaving(in_conflict) || left) return count_failure("LostRace");
  waits("DeviceConflict", "waits: " + conflicts.front().message, conflicts.front().message);
  outcome_.requeue_in(std::chrono::seconds(30));
}

void PodReconcile::prove() {
  // The reconciles of the pod for which a claim is reserved prove the claim.
  for (const ClaimState& claim : state_.claims)
    if (claim.needs_proof() && !claim.in_stream) return;  // the stream requeues the key
  if (const Conflicts conflicts = conflicts_of_allocated(); !conflicts.empty()) return withdraw_for(conflicts);
  if (role_ != Role::kBoundBare) {
    const NodeChoice choice = candidate_nodes();
    if (waits_for_watch(choice)) return;
    if (choice.nodes.empty() && (releasing() ? withdraw() : withdraw_all())) return;
    if (choice.nodes.empty() && !releasing()) return no_node(choice);
    if (!choice.nodes.empty() && !prepared(choice)) return;
  }
  if (role_ == Role::kExplain) return;  // observe mode: nothing prevents a proof, but nobody writes one
  add_marks();
}

void PodReconcile::add_marks() {
  for (const ClaimState& claim : state_.claims) {
    if (!claim.needs_proof()) continue;
    const api::ResourceClaim& object = *claim.claim;
    std::vector<std::string> finalizers = object.metadata.finalizers;
    if (!object.metadata.has_finalizer(api::kDeleteProtectionFinalizer))
      finalizers.emplace_back(api::kDeleteProtectionFinalizer);
    // A list left over from an earlier allocation says nothing, except who left.
    std::vector<User> users = users_of(object);
    const bool of_now = bears_mark_of(object, *object.status.allocation);
    std::erase_if(users, [&](const User& user) { return user.left ? user.uid == pod_.metadata.uid : !of_now; });
    if (!of_now || !claim.listed) users.insert(users.begin(), {pod_.metadata.name, pod_.metadata.uid});
    outcome_.add(
        write_metadata(object, finalizers,
                       {{std::string(kProofAnnotation), proof_value(pod_.metadata.uid, *object.status.allocation)},
                        {std::string(kProvenForAnnotation), users_value(users)}},
                       "prove"));
  }
  if (role_ == Role::kToBind) say_allocated();
}

Event PodReconcile::allocated_event() const {
  std::string where;
  for (const ClaimState& claim : state_.claims)
    if (const std::string* node = claim.allocated() ? api::only_node(*claim.claim->status.allocation) : nullptr)
      where = " on node " + *node;
  return {
      ref_of(pod_), false, "Allocated", "Allocate", devices_words() + where + why_here_.clause(pod_.metadata.uid), ""};
}

// In bind mode the event goes with the last proof; in gate mode with the lifting of the gate.
void PodReconcile::say_allocated() {
  for (auto effect = outcome_.effects.rbegin(); effect != outcome_.effects.rend(); ++effect)
    if (Write* write = std::get_if<Write>(&*effect)) {
      write->success_event = allocated_event();
      return;
    }
}

bool PodReconcile::withdrawable(const ClaimState& claim) const {
  if (role_ == Role::kExplain) return false;  // observe mode writes nothing but events
  // An allocation made for another pod is that pod's to withdraw.
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
  if (any) outcome_.min_interval = retreat_delay(pod_, state_);
  return any;
}

}  // namespace dra::allocation
