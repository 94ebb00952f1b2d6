// The claim that bind mode makes for a pod's extended resources, as kube-scheduler makes it (KEP-5004): what is in it,
// and which container gets the devices of which of its requests. Pure.
//
// Verified on kube-scheduler 1.36.2: the claim is made without finalizer, which comes with the first write after that;
// requests are named container-<i>-request-<j>, where i counts init containers, then containers, and j the sorted names
// of all that the container requests. Containers that run at the same time have requests of their own. An init
// container runs before the containers, and before the sidecars behind it: it uses their requests in this order, and
// for what they lack one request of its own. The init container that lacks most makes that request, the others share
// it.
#pragma once

#include <string>
#include <vector>

#include "pkg/api/core.h"
#include "pkg/api/resource.h"
#include "pkg/reconcile/extended.h"

namespace dra::reconcile {

struct ExtendedPlan {
  std::vector<api::DeviceRequest> requests;
  std::vector<api::ContainerExtendedResourceRequest> mappings;
};
// `claimed`: those of the pod's extended resources whose devices come from the claim.
ExtendedPlan plan_extended(const api::Pod& pod, const std::vector<ExtendedResource>& claimed);

// Those among `resources` that the requests of such a claim are for.
std::vector<ExtendedResource> claimed_by(const api::Pod& pod, const std::vector<ExtendedResource>& resources,
                                         const api::ResourceClaim& claim);
// The claim asks for what the plan of the resources that it is for says, and for nothing else.
bool is_as_planned(const api::Pod& pod, const std::vector<ExtendedResource>& resources,
                   const api::ResourceClaim& claim);

// Those that the node's device plugins do not advertise: devices of a claim have to serve them there.
std::vector<ExtendedResource> to_claim_on(const api::Node& node, const std::vector<ExtendedResource>& resources);

// The pod as the device plugins see it: without what a claim serves.
api::Pod without_resources(const api::Pod& pod, const std::vector<ExtendedResource>& claimed);

bool same_status(const api::PodExtendedResourceClaimStatus& a, const api::PodExtendedResourceClaimStatus& b);

}  // namespace dra::reconcile
