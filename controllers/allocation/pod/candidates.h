// Candidates: the nodes that a pod and its already allocated claims allow, best first, and what was left out.
#pragma once

#include <string>
#include <vector>

#include "controllers/allocation/pod/context.h"
#include "controllers/allocation/pod/obstacles.h"
#include "pkg/nodes/node_chooser.h"

namespace dra::allocation {

struct Candidates {
  nodes::NodeChoice choice;
  Obstacles obstacles;
};

// Requeues the pod when nodes are kept from it: nothing unparks it when they no longer are.
Candidates candidate_nodes(const PodContext& context, reconcile::ReconcileResult& out);
// The nodes of `only` that fit the pod; where not `restricted`, of all nodes. Nothing is kept from it.
nodes::NodeChoice choose_among(const PodContext& context, std::vector<std::string> only, bool restricted);
// The node that allocated claims pin the pod to; null: none does.
const std::string* pinned_node(const PodState& state);

}  // namespace dra::allocation
