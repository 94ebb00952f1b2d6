// Pods that we ungated, pinned to the node of their devices (or to the nodes with the labels by which a slice selects
// them), and that kube-scheduler then calls unschedulable (gate mode): they wait with their devices, maybe forever. An
// event on the pod says so in kube-scheduler's words; with --recreate-pinned-pods the pod is evicted, so that its owner
// makes another, which goes elsewhere: few pods of an owner at a time (pkg/protocol/recreations.h).
#pragma once

#include "controllers/allocation/options.h"
#include "pkg/nodes/node_chooser.h"
#include "pkg/protocol/recreations.h"
#include "pkg/reconcile/effect.h"
#include "pkg/reconcile/view.h"

namespace dra::allocation {

// On a namespace: its pinned pods may be evicted, to be recreated.
inline constexpr std::string_view kRecreateLabel = "dra-controller-manager/recreate-pinned-pods";
// How long kube-scheduler must have called a pod unschedulable before the pod is evicted.
inline constexpr Duration kPinnedLongEnough = std::chrono::minutes(10);
// How long the owner's next pods avoid that node, or those nodes.
inline constexpr Duration kNodeIsAvoided = std::chrono::minutes(10);

// The pod has claims, is ungated and unbound, and kube-scheduler calls it unschedulable.
bool is_unschedulable(const api::Pod& pod);

// One reconcile of such a pod; does nothing when we allocated and proved no claim of it. An eviction is noted in
// `recreations` when it is decided, so that the next pod of the owner sees it.
reconcile::ReconcileResult reconcile_pinned(const reconcile::View& view, const api::Pod& pod, const Options& options,
                                            nodes::NodeChooser& nodes, protocol::Recreations& recreations);

}  // namespace dra::allocation
