// Before a pod is bound: what it waits for, and the steps of bind/.
#pragma once

#include "controllers/allocation/pod/candidates.h"
#include "controllers/allocation/pod/context.h"

namespace dra::allocation {

// The choice needs something not yet known: nothing may be concluded from it, and the pod is requeued.
bool waits_for_watch(const nodes::NodeChoice& choice, reconcile::ReconcileResult& out);
// A Binding of the pod is under way, perhaps in its group's list: the stream requeues the pod, or the failure does.
bool is_being_bound(const PodContext& context, reconcile::ReconcileResult& out);
// Bind mode: true when all bind steps are done for the first candidate (always true otherwise). If not, writes what
// they need and waits, or frees everything. There is a candidate.
bool prepare_binding(const PodContext& context, const Candidates& candidates, reconcile::ReconcileResult& out);

}  // namespace dra::allocation
