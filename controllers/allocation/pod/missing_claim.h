// A claim made from a template that does not exist: the pod waits for it, and gets an event when that takes long.
#pragma once

#include "controllers/allocation/pod/context.h"

namespace dra::allocation {

// Notes since when a claim is missing, and requeues the pod for when that is no longer ordinary.
void watch_missing_claim(const PodContext& context, reconcile::ReconcileResult& out);

}  // namespace dra::allocation
