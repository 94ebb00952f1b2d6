// The claim that bind mode creates for a pod's extended resources, in kube-scheduler's form (KEP-5004): its contents,
// and which container gets the devices of which request. Pure.
//
// Verified on kube-scheduler 1.36.2: the claim is created without a finalizer; the next write adds it. Requests are
// named container-<i>-request-<j>: i counts init containers, then containers; j counts the sorted names of all
// resources that the container requests. Containers that run at the same time have their own requests. An init
// container runs before the containers and the sidecars after it: it uses their requests in this order, plus one
// request of its own for what they lack. The init container that lacks most makes that request; the others share
// it.
#pragma once

#include <string>
#include <vector>

#include "pkg/api/core.h"
#include "pkg/api/resource.h"
#include "pkg/protocol/extended.h"

namespace dra::protocol {

struct ExtendedPlan {
  std::vector<api::DeviceRequest> requests;
  std::vector<api::ContainerExtendedResourceRequest> mappings;
};
// `claimed`: those of the pod's extended resources whose devices come from the claim.
ExtendedPlan plan_extended(const api::Pod& pod, const std::vector<ExtendedResource>& claimed);

// The subset of `resources` that the requests of such a claim cover.
std::vector<ExtendedResource> claimed_by(const api::Pod& pod, const std::vector<ExtendedResource>& resources,
                                         const api::ResourceClaim& claim);
// Whether the claim asks for exactly what the plan for its resources says.
bool is_as_planned(const api::Pod& pod, const std::vector<ExtendedResource>& resources,
                   const api::ResourceClaim& claim);

// The resources that the node's device plugins do not advertise: there a claim's devices have to serve them.
std::vector<ExtendedResource> to_claim_on(const api::Node& node, const std::vector<ExtendedResource>& resources);

// The pod as the device plugins see it: without the resources that a claim serves.
api::Pod without_resources(const api::Pod& pod, const std::vector<ExtendedResource>& claimed);

bool same_status(const api::PodExtendedResourceClaimStatus& a, const api::PodExtendedResourceClaimStatus& b);

}  // namespace dra::protocol
