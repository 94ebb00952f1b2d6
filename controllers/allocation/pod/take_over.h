// The next pod of a controller takes over the devices that a claim of an earlier one keeps for it, as they are
// (docs/design/keep.md).
#pragma once

#include <vector>

#include "controllers/allocation/pod/context.h"
#include "pkg/allocator/allocator.h"

namespace dra::allocation {

// Before a search. If each claim of the request was made from a template that asks to keep, and one earlier pod of the
// same controller has left a kept claim of the same name and spec for each of them, whose devices can be used on a node
// of `order`: these are noted (protocol::kTakenNote), the controller lifecycle frees them, and the pod is given the
// same devices as soon as they are free. True: it waits for this, or was given them.
bool take_over(const PodContext& context, const allocator::Request& request,
               const std::vector<allocator::NodeId>& order, reconcile::ReconcileResult& out);

}  // namespace dra::allocation
