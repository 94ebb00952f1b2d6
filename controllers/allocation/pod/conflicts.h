// Conflicts: devices that the pod's claims were allocated and that others were allocated too, as the watch shows them.
#pragma once

#include <vector>

#include "controllers/allocation/pod/context.h"
#include "pkg/inventory/inventory.h"

namespace dra::allocation {

using Conflicts = std::vector<inventory::AuditFinding>;

// Those of the pod's allocated claims.
Conflicts conflicts_of(const PodContext& context);
// True when every holder in the conflict, the pod's own claims aside, is proven or not ours: none will give way.
bool is_lasting(const PodContext& context, const inventory::AuditFinding& conflict);
// The conflicts that last.
Conflicts lasting_of(const PodContext& context, Conflicts conflicts);
// Gives way to the other holders in the overlap, or reports the conflict. There is one.
void give_way(const PodContext& context, const Conflicts& conflicts, reconcile::ReconcileResult& out);

}  // namespace dra::allocation
