// P8: a pod that our gate still holds, or that is ours to bind, leaves claims (pkg/protocol/leaving.h): it announces
// that in an annotation, and then takes itself off the claim's list of users, out of its reservations, and, as the last
// user, frees the allocation. Pods that have started never leave.
#pragma once

#include <vector>

#include "controllers/allocation/pod/context.h"

namespace dra::allocation {

// Takes the pod out of claims that it announced to leave. True while it has not left one of them.
bool leave_announced(const PodContext& context, reconcile::ReconcileResult& out);
// Withdraws or leaves claims that are reserved for the pod and no longer of use to it; false when there is none.
bool drop_abandoned(const PodContext& context, reconcile::ReconcileResult& out);
// Removes reservations that the pod cannot be using because no list of users has the pod, and frees claims that it was
// the last to leave; false when there is none.
bool leave_unlisted(const PodContext& context, const std::vector<protocol::ClaimState>& claims,
                    reconcile::ReconcileResult& out);
// Announces that the pod leaves those of `claims` that list it as a user; false when there is none.
bool announce_leaving(const PodContext& context, const std::vector<protocol::ClaimState>& claims,
                      reconcile::ReconcileResult& out);

}  // namespace dra::allocation
