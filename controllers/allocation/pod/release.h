// P4: everything is allocated and proven: reserves the claims for the pod, then lifts its gate or binds it.
#pragma once

#include <optional>

#include "controllers/allocation/pod/context.h"
#include "pkg/nodes/node_chooser.h"

namespace dra::allocation {

// Judges the node once more, reserves, then ungates or binds the pod.
void use_claims(const PodContext& context, reconcile::ReconcileResult& out);
// All but the last step of it: where the pod may go, or nothing when something else must be done or waited for.
// `without_conflict`: conflicts_of() is known to be empty.
std::optional<nodes::NodeChoice> ready_to_go(const PodContext& context, bool without_conflict,
                                             reconcile::ReconcileResult& out);
// The last step.
void ungate_or_bind(const PodContext& context, const nodes::NodeChoice& choice, reconcile::ReconcileResult& out);
// Before an uninstall, with claims missing or unallocated: our unproven allocations are withdrawn or, where they are
// not this pod's to withdraw, proven (P7); then the gate is lifted and kube-scheduler takes over.
void release_pod(const PodContext& context, reconcile::ReconcileResult& out);

}  // namespace dra::allocation
