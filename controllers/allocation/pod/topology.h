// Topology in the allocation controller: what it asks of pkg/gang, and how single pods are placed in domains of nodes.
//
// A single pod that asks for a domain goes to the smallest one with capacity, so that large ones stay whole; a member
// that joins a launched group goes near the others. The search for groups decides both, as a group of one.
#pragma once

#include <string>
#include <vector>

#include "controllers/allocation/options.h"
#include "pkg/gang/gang.h"
#include "pkg/protocol/groups.h"
#include "pkg/protocol/topology.h"

namespace dra::allocation {

// For gang::GangRequest.
gang::Topology topology_for(const reconcile::TopologyWish& wish, const Options& options);

struct Neighbours {
  reconcile::TopologyWish wish;
  std::vector<std::string> nodes;  // of other members of the pod's group, running or to run
  bool any() const { return !wish.empty() || !nodes.empty(); }
};
// What a pod that is decided alone asks for. A pod of a launched group asks for what its group asks for.
Neighbours neighbours_of(const reconcile::View& view, const api::Pod& pod, const Options& options);

}  // namespace dra::allocation
