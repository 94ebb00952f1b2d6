// P1 in a domain of nodes: a single pod that asks for a domain goes to the smallest one with capacity, so that large
// ones stay whole; a member that joins a launched group goes near the others. The search for groups decides both, as a
// group of one. A pod whose group asks for rails is decided in the same way (members/rails.h).
#pragma once

#include "controllers/allocation/pod/candidates.h"
#include "controllers/allocation/pod/context.h"
#include "controllers/allocation/pod/topology.h"
#include "pkg/allocator/allocator.h"
#include "pkg/protocol/rails.h"

namespace dra::allocation {

// True: the pod got its devices, or waits for a reason that only the domain has. False: decide without the domain; then
// `obstacles` are those of the last choice of nodes.
// `rails`: of the pod's group; with hard rules nothing is decided without them.
bool allocate_near(const PodContext& context, const Neighbours& near, const protocol::PodRails& rails,
                   const allocator::Request& request, Obstacles& obstacles, reconcile::ReconcileResult& out);

}  // namespace dra::allocation
