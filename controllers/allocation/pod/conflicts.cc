#include "controllers/allocation/pod/conflicts.h"

#include <algorithm>
#include <string>
#include <utility>

#include "controllers/allocation/pod/leave.h"
#include "controllers/allocation/pod/report.h"
#include "controllers/allocation/pod/withdraw.h"
#include "pkg/protocol/pod_claims.h"
#include "pkg/protocol/proof.h"

namespace dra::allocation {

using namespace protocol;
using namespace reconcile;

Conflicts conflicts_of(const PodContext& context) {
  std::vector<std::string> uids;
  for (const protocol::ClaimState& claim : context.state.claims)
    if (claim.allocated()) uids.push_back(claim.claim->metadata.uid);
  return context.tools.inventory.over_commitments(uids, inventory::Layer::kObserved);
}

bool is_lasting(const PodContext& context, const inventory::AuditFinding& conflict) {
  const std::vector<protocol::ClaimState>& claims = context.state.claims;
  const auto is_of_this_pod = [&](const api::ResourceClaim& claim) {
    return std::any_of(claims.begin(), claims.end(),
                       [&](const protocol::ClaimState& own) { return own.claim->metadata.uid == claim.metadata.uid; });
  };
  return std::none_of(conflict.claims.begin(), conflict.claims.end(), [&](const std::string& uid) {
    const api::ResourceClaim* claim = context.view.allocated_claim(uid);
    return claim != nullptr && is_allocated_by_us(*claim) && !is_of_this_pod(*claim) && !is_proven(*claim);
  });
}

Conflicts lasting_of(const PodContext& context, Conflicts conflicts) {
  // Findings about the counters of a device name the same claims: hundreds of findings, thousands of look-ups.
  std::vector<bool> stay;
  for (size_t i = 0; i < conflicts.size(); ++i) {
    const bool known = i > 0 && conflicts[i].claims == conflicts[i - 1].claims;
    stay.push_back(known ? stay[i - 1] : is_lasting(context, conflicts[i]));
  }
  Conflicts lasting;
  for (size_t i = 0; i < conflicts.size(); ++i)
    if (stay[i]) lasting.push_back(std::move(conflicts[i]));
  return lasting;
}

// Withdrawing helps only if an allocation of ours is part of the overlap itself: withdrawing the sibling of one that
// stays would only repeat the conflict.
void give_way(const PodContext& context, const Conflicts& conflicts, ReconcileResult& out) {
  const std::vector<protocol::ClaimState>& claims = context.state.claims;
  const bool helps = std::any_of(claims.begin(), claims.end(), [&](const protocol::ClaimState& claim) {
    return may_withdraw_claim(context, claim) &&
           std::any_of(conflicts.begin(), conflicts.end(), [&](const inventory::AuditFinding& conflict) {
             return std::find(conflict.claims.begin(), conflict.claims.end(), claim.claim->metadata.uid) !=
                    conflict.claims.end();
           });
  });
  if (helps && withdraw_claims(context, out)) return count_failure(context, "LostRace", out);
  // Proven, and somebody outside the protocol allocated the same devices since; the gate still holds the pod.
  std::vector<protocol::ClaimState> in_conflict;
  for (const protocol::ClaimState& claim : claims)
    if (claim.ours && claim.proven && std::any_of(conflicts.begin(), conflicts.end(), [&](const auto& conflict) {
          return std::binary_search(conflict.claims.begin(), conflict.claims.end(), claim.claim->metadata.uid) &&
                 is_lasting(context, conflict);
        }))
      in_conflict.push_back(claim);
  const bool left = leave_unlisted(context, in_conflict, out);
  if (announce_leaving(context, in_conflict, out) || left) return count_failure(context, "LostRace", out);
  const std::string& first = conflicts.front().message;
  say_waiting(context, {"DeviceConflict", "waits: " + first, first}, Fit::kUndecided, out);
  out.requeue_in(std::chrono::seconds(30));
}

}  // namespace dra::allocation
