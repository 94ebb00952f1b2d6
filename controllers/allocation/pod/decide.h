// P1: chooses devices, and with them the node.
#pragma once

#include <vector>

#include "controllers/allocation/pod/context.h"
#include "pkg/allocator/allocator.h"

namespace dra::allocation {

// Of a pod with unallocated claims: writes an allocation for all of them together; or withdraws or leaves what is in
// the way; or parks the pod.
void decide_claims(const PodContext& context, reconcile::ReconcileResult& out);

// The claims' preferences, for allocator::Request. An event for each claim whose preferences are ignored.
std::vector<allocator::Preference> preferences_of_claims(const PodContext& context, reconcile::ReconcileResult& out);

}  // namespace dra::allocation
