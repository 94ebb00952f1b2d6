// Placement: on which nodes a pod can run, in which order, and why not on the others.
//
//   Result<PodNeeds> needs = PodNeeds::of(pod);
//   Decision decision = decide(cluster, *needs);
//   for (const RankedNode& node : decision.nodes) ... ask the allocator for devices there, best first
//   if nothing fits: decision.summary()        // "0/3 nodes are available: 2 Insufficient cpu, 1 node(s) ..."
//
// The rules are those of the default profile of kube-scheduler 1.36.2: filters in its order, reasons in its words,
// scores with its weights. Not thread-safe across one Cluster, whose caches a decision updates.
#pragma once

#include "pkg/placement/cluster.h"
#include "pkg/placement/decision.h"

namespace dra::placement {

Decision decide(const Cluster& cluster, const PodNeeds& needs, const DecisionOptions& options = {});

}  // namespace dra::placement
