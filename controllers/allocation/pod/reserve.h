// P4: the pod becomes a consumer of its claims and is listed as their user.
//
// Many pods may want one claim at a time, and each write of it takes a turn. So one write carries everybody: a pod that
// has come so far leaves a note (kReadyNote), and the write of whichever pod is next takes along all those whose notes
// are fresh; likewise for the list of users, which takes along all that are reserved. Reserving and listing only hold
// more than before; a gate is lifted, or a pod bound, by its own reconcile alone, which looks at mark, list,
// reservation and node again. Taken along are only pods that still have our gate or are ours to bind, and that do not
// leave the claim (P8), and that do not ask for pairs or rails, which their own reconcile judges before it lists them.
//
// A pod that waits meanwhile holds its place on the node (HoldPlace): of many that fit one by one, no more are reserved
// than fit together. A pod whose write was refused takes nobody along the next time.
//
// From kManyConsumers on, one reservation follows another after kReservationPause, so that it carries many. Notes are
// kept in memory; they save writes, and nothing depends on them.
#pragma once

#include "controllers/allocation/pod/context.h"
#include "pkg/nodes/node_chooser.h"

namespace dra::allocation {

inline constexpr size_t kManyConsumers = 4;
inline constexpr Duration kReservationPause = std::chrono::milliseconds(600);

// Adds this pod as a consumer of shared claims and of claims allocated by others. True when something was written,
// cannot be written, is waited for, or is not in the stream yet.
bool reserve_claims(const PodContext& context, const nodes::NodeChoice& choice, reconcile::ReconcileResult& out);

// The pod fits no node any more: no other pod's write reserves for it.
void forget_ready(const PodContext& context, reconcile::ReconcileResult& out);

// Lists the pod as a user of its claims before its gate is lifted or it is bound. True when something was written,
// cannot be written, or is waited for.
bool enlist_pod(const PodContext& context, reconcile::ReconcileResult& out);

}  // namespace dra::allocation
