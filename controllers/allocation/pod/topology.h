// Topology in the allocation controller: what it asks of pkg/gang, and which domain of nodes a pod has to stay in.
// near.h places single pods in domains.
#pragma once

#include <string>
#include <vector>

#include "controllers/allocation/options.h"
#include "controllers/allocation/pod/context.h"
#include "pkg/gang/gang.h"
#include "pkg/nodes/node_chooser.h"
#include "pkg/protocol/groups.h"
#include "pkg/protocol/topology.h"

namespace dra::allocation {

// For gang::GangRequest.
gang::Topology topology_for(const protocol::TopologyWish& wish, const Options& options);

struct Neighbours {
  protocol::TopologyWish wish;
  std::vector<std::string> nodes;  // of other members of the pod's group, running or to run
  bool any() const { return !wish.empty() || !nodes.empty(); }
};
// What a pod that is decided alone asks for. A pod of a launched group asks for what its group asks for.
Neighbours neighbours_of(const reconcile::View& view, const api::Pod& pod, const Options& options);

// Bind mode, a member without devices of one node: keeps the nodes in the required domain that its group is in.
void keep_at_home(const PodContext& context, nodes::NodeChoice& choice);

}  // namespace dra::allocation
