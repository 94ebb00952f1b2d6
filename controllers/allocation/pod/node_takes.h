// What devices of the pod's claims take of its node's cpu, memory and the like (KEP-5517; pkg/inventory/node_takes.h),
// in bind mode: room for it is looked for with the devices, it counts from the decision on, and the pod's status says
// it before the pod is bound, as with kube-scheduler. Everywhere else such devices are refused by the name of the
// field.
//
// Not served, so refused: members of groups, claims of PodGroups, pods with extended resources, claims that no
// container uses, and a claim for a second pod while a first one has it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "controllers/allocation/pod/context.h"
#include "pkg/allocator/allocator.h"
#include "pkg/nodes/node_chooser.h"

namespace dra::allocation {

// Of the allocated claims, by name. Of a claim with a device that is not published any more: what the pod's status
// says.
std::vector<api::ClaimTakes> takes_of(const PodContext& context);
// The same with what was decided for the others.
std::vector<api::ClaimTakes> takes_with(const PodContext& context, const allocator::Request& request,
                                        const allocator::Decision& decision);
// The pod with takes_of() in the place of what its status says; nullopt: no device takes anything.
std::optional<api::Pod> pod_with_takes(const PodContext& context);
// The pod is refused devices that pods like it may get: no container uses one of its claims.
bool is_refused_takes(const PodContext& context);
// For allocator::Request; empty: the devices are refused.
allocator::RoomOnNode room_for_takes(const PodContext& context);
// The pod counts on the node, with what its claims take.
reconcile::AssumedPod assumed_on(const PodContext& context, std::string node);
// False: a claim takes something of the node and another pod has it, or no container uses it; the pod waits.
bool takes_alone(const PodContext& context, reconcile::ReconcileResult& out);
// True when the pod's status says what its claims take; otherwise it is written, or the pod waits because the server
// does not keep it.
bool publish_takes(const PodContext& context, const nodes::NodeChoice& choice, reconcile::ReconcileResult& out);

}  // namespace dra::allocation
