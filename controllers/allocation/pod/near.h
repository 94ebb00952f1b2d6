// P1 in a domain of nodes: a single pod that asks for a domain goes to the smallest one with capacity, so that large
// ones stay whole; a member that joins a launched group goes near the others. The search for groups decides both, as a
// group of one.
#pragma once

#include "controllers/allocation/pod/candidates.h"
#include "controllers/allocation/pod/context.h"
#include "controllers/allocation/pod/topology.h"
#include "pkg/allocator/allocator.h"

namespace dra::allocation {

// True: the pod got its devices, or waits for a reason that only the domain has. False: decide without the domain; then
// `obstacles` are those of the last choice of nodes.
bool allocate_near(const PodContext& context, const Neighbours& near, const allocator::Request& request,
                   Obstacles& obstacles, reconcile::ReconcileResult& out);

}  // namespace dra::allocation
