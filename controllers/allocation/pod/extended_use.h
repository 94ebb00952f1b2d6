// Pods that request extended resources of a DeviceClass (pkg/protocol/extended.h): which nodes serve them. In gate mode
// those whose device plugins do: such pods are kept gated, or ungated towards these nodes. In bind mode a claim may
// serve them, too (bind_extended.h).
#pragma once

#include <string>
#include <vector>

#include "controllers/allocation/pod/context.h"
#include "pkg/nodes/node_chooser.h"

namespace dra::allocation {

// For pods that no claim may serve. False, with an event, when no node's device plugin advertises the pod's extended
// resources: kube-scheduler would allocate the devices itself, unproven.
bool serve_by_plugins(const PodContext& context, reconcile::ReconcileResult& out);
// Keeps only those nodes of the choice whose device plugins advertise the pod's extended resources.
void keep_advertising(const PodContext& context, nodes::NodeChoice& choice);
// Restricts the term to nodes whose device plugins advertise them; with claims, to such nodes of the choice.
void narrow_to_advertising(const PodContext& context, const nodes::NodeChoice& choice, api::NodeSelectorTerm& term);
// The nodes on which the claim (context.claimed, existing or supposed) serves what the device plugins do not.
nodes::NodeChoice choose_beside_plugins(const PodContext& context, std::vector<std::string> among);

}  // namespace dra::allocation
