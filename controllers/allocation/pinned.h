// Pods that were let go here, pinned to the node of their devices (or to the nodes with the labels by which a slice
// selects them), and that kube-scheduler then calls unschedulable (gate mode): they wait with their devices, maybe
// forever. Their event says so in kube-scheduler's words; with --recreate-pinned-pods the pod is evicted, so that its
// owner makes one that goes elsewhere. Pure.
#pragma once

#include "controllers/allocation/allocation.h"

namespace dra::allocation {

// On a namespace: its pinned pods may be recreated.
inline constexpr std::string_view kRecreateLabel = "dra-controller-manager/recreate-pinned-pods";
// How long kube-scheduler has called a pod unschedulable before it is recreated.
inline constexpr Duration kPinnedLongEnough = std::chrono::minutes(10);
// How long the owner's next pods are not put onto that node, or those nodes.
inline constexpr Duration kNodeIsAvoided = std::chrono::minutes(10);
// Evictions for one owner, as far as this process remembers.
inline constexpr uint32_t kMostRecreations = 3;

// The pod is nobody's but kube-scheduler's now, which calls it unschedulable, and names claims.
bool is_unschedulable(const api::Pod& pod);

// One run for such a pod; nothing to do when no claim of it was allocated and proven here.
reconcile::Outcome look_at_pinned(const reconcile::View& view, const api::Pod& pod, const Options& options,
                                  NodeChooser& nodes);

}  // namespace dra::allocation
