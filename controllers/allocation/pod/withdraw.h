// P5: what is allocated and not proven is withdrawn, so that others may have it; and what the pod holds beyond that is
// left (leave.h) when nothing fits.
#pragma once

#include "controllers/allocation/pod/context.h"

namespace dra::allocation {

// The allocation is ours, unproven, and this pod's to withdraw.
bool may_withdraw_claim(const PodContext& context, const protocol::ClaimState& claim);
// Withdraws all unmarked siblings together; false when we may withdraw none.
bool withdraw_claims(const PodContext& context, reconcile::ReconcileResult& out);
// Nothing fits: frees what pins the pod. Withdraws what is unproven, else leaves what is proven (P8), and deletes the
// unallocated claim for its extended resources; false when there is nothing to free.
bool withdraw_or_leave(const PodContext& context, reconcile::ReconcileResult& out);

}  // namespace dra::allocation
