// What the reconcile of one pod of a group does: for its group, if the pod is the first that waits; else for itself,
// once the group is launched; else it waits with the others.
#pragma once

#include "controllers/allocation/tools.h"
#include "pkg/api/core.h"
#include "pkg/protocol/groups.h"
#include "pkg/reconcile/effect.h"
#include "pkg/reconcile/view.h"

namespace dra::allocation {

// `membership` is kMember or kWaits; the pod is gated by us, or ours to bind.
reconcile::ReconcileResult reconcile_member(const reconcile::View& view, const api::Pod& pod, const Tools& tools,
                                            const protocol::Membership& membership);

}  // namespace dra::allocation
