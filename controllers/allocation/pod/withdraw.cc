#include "controllers/allocation/pod/withdraw.h"

#include <utility>

#include "controllers/allocation/pod/leave.h"
#include "pkg/protocol/keep.h"
#include "pkg/protocol/writes.h"

namespace dra::allocation {

using namespace protocol;
using namespace reconcile;

namespace {

bool delete_unallocated_extended(const PodContext& context, ReconcileResult& out) {
  const auto& claim = context.state.extended;
  if (!claim || claim->status.allocation || !claim->status.reserved_for.empty()) return false;
  out.add(write_delete(Kind::kClaim, claim->metadata, "delete-extended-claim"));
  return true;
}

}  // namespace

bool may_withdraw_claim(const PodContext& context, const protocol::ClaimState& claim) {
  if (context.role == Role::kExplain) return false;  // observe mode writes nothing but events
  // An allocation made for another pod is that pod's to withdraw.
  if (!claim.reserved && has_users(*claim.claim)) return false;
  return may_withdraw(context.view, claim, context.tools.options);
}

bool withdraw_claims(const PodContext& context, ReconcileResult& out) {
  bool any = false;
  for (const protocol::ClaimState& claim : context.state.claims) {
    if (!may_withdraw_claim(context, claim)) continue;
    Write write = write_deallocation(*claim.claim, "withdraw");
    write.release_pod = context.pod.metadata.uid;
    out.add(std::move(write));
    any = true;
  }
  if (any) out.min_interval = retreat_delay(context.pod, context.state);
  return any;
}

bool withdraw_or_leave(const PodContext& context, ReconcileResult& out) {
  if (withdraw_claims(context, out)) return true;
  const bool left = leave_unlisted(context, context.state.claims, out);
  return announce_leaving(context, context.state.claims, out) || left || delete_unallocated_extended(context, out);
}

}  // namespace dra::allocation
