// Devices that claims keep without a pod go to a pod of a higher priority that fits nowhere otherwise
// (docs/design/keep.md).
#pragma once

#include <vector>

#include "controllers/allocation/pod/context.h"
#include "pkg/allocator/allocator.h"

namespace dra::allocation {

// After a search that found nothing. If the pod fits once kept claims of lower priorities are set aside, the claims
// whose devices it then gets are noted (protocol::kTakenNote), and the controller lifecycle frees them; the devices are
// kept for the pod meanwhile. False: it does not help, or nothing is kept.
bool take_kept(const PodContext& context, const allocator::Request& request,
               const std::vector<allocator::NodeId>& order, reconcile::ReconcileResult& out);

}  // namespace dra::allocation
