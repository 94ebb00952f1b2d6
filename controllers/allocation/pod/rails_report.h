// What the annotations for rails (and, of a group, for pairs) that cannot be followed say to people.
#pragma once

#include "controllers/allocation/pod/context.h"
#include "pkg/protocol/rails.h"

namespace dra::allocation {

// Soft annotations that are ignored get an event. False: a hard one is refused, and this pod waits, with an event and
// a condition that quote it.
bool report_rails(const PodContext& context, const protocol::PodRails& rails, reconcile::ReconcileResult& out);

}  // namespace dra::allocation
