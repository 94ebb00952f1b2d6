// Pairs and rails of devices that are allocated already: judged before a mark, and before a pod uses what others
// allocated. Between a decision and its mark a driver may publish other attributes; and who else allocates knows
// neither annotation.
#pragma once

#include <string>

#include "controllers/allocation/pod/context.h"

namespace dra::allocation {

// Before the marks of its claims (P3): the pairs of those that are unmarked, and the pod's. Empty: they hold, by what
// is published now; else a clause for people.
std::string unmet_pairs(const PodContext& context);
// The same as a step. False: the allocation is withdrawn, and decided anew; or the pod waits, and an event says why.
bool pairs_hold(const PodContext& context, reconcile::ReconcileResult& out);

// Before the pod is listed as a user of claims none of which was marked for it: what it asks for over them, and on its
// group's rails. False: it waits.
bool use_is_aligned(const PodContext& context, reconcile::ReconcileResult& out);

}  // namespace dra::allocation
