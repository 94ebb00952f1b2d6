// What is kept from a pod for groups: nodes (kept_nodes.h) and devices (kept_devices.h); and the clauses that say so.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "controllers/allocation/kept/kept_devices.h"
#include "controllers/allocation/pod/context.h"
#include "controllers/allocation/pod/obstacles.h"
#include "pkg/nodes/node_chooser.h"
#include "pkg/verdict/verdict.h"

namespace dra::allocation {

// Removes from the choice the nodes that are kept from the pod, and returns them by the group that they are kept for
// (Obstacles::kept_nodes). Requeues the pod when there are some.
std::map<std::string, std::vector<std::string>> leave_kept_nodes(const PodContext& context, nodes::NodeChoice& choice,
                                                                 reconcile::ReconcileResult& out);
// " for group a/b (12 nodes), for group c/d (3 nodes), which ...". Empty: none is kept.
std::string kept_nodes_clause(const Obstacles& obstacles);
// As groups of refused nodes, each with the group of pods that it is kept for.
void refuse_kept_nodes(const Obstacles& obstacles, verdict::NodeFindings& findings);

// The devices that the pod, or another of its group with this priority, must leave to groups whose members come again.
KeptDevices::Kept kept_devices_of(const PodContext& context, int64_t priority);
// "; 1 device is kept for group a/b, until ...". Empty: none is kept.
std::string kept_devices_clause(const KeptDevices::Kept& kept);

}  // namespace dra::allocation
