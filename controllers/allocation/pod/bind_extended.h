// Extended resources of a DeviceClass in bind mode: the claim that serves them is made once devices and a node are
// found for it, then allocated and proven like any other and published in the pod's status; only then is the pod bound.
//
// Which resources a claim serves depends on the node, because the device plugins there serve what they advertise. So
// nodes are tried in groups that leave the same resources to devices. A claim that no longer fits is deleted and the
// groups are tried again: a waiting pod has no such claim, and none counts against a quota.
#pragma once

#include "controllers/allocation/pod/context.h"
#include "controllers/allocation/pod/obstacles.h"

namespace dra::allocation {

struct ExtendedAnswer {
  bool goes_on = false;   // the claim exists, or the nodes tried first need none
  Obstacles obstacles{};  // of the nodes tried last
};
// Of a pod that is ours to bind and that a claim may serve. If it does not go on, the claim is being made, since
// devices and a node were found for it, or the pod is parked.
ExtendedAnswer serve_by_claim(const PodContext& context, reconcile::ReconcileResult& out);
// Of such a pod, before it is bound: true when its status says which container gets which devices; else writes that.
bool publish_extended(const PodContext& context, reconcile::ReconcileResult& out);

}  // namespace dra::allocation
