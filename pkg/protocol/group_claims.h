// Claims of PodGroups (KEP-5729, DRAWorkloadResourceClaims): a PodGroup lists claims in spec.resourceClaims, and a pod
// of the group that repeats an entry (the same name, claim and template) uses the group's claim. There is one for all
// pods, and once it is proven it is reserved for the PodGroup (docs/design/arbitration.md, P9). kube-controller-manager
// makes it from its template, writes its name into the pods' status, and takes the PodGroup out of its reservations
// when the PodGroup is gone. Pure functions.
#pragma once

#include <string>

#include "pkg/api/core.h"
#include "pkg/api/resource.h"
#include "pkg/reconcile/view.h"

namespace dra::protocol {

// The claim was made for the PodGroup of scheduling.k8s.io that the pod names.
bool is_made_for_group_of(const api::Pod& pod, const api::ResourceClaim& claim);
// The same by uid: for this PodGroup, not for an earlier one of its name.
bool is_made_for(const api::PodGroup& group, const api::ResourceClaim& claim);
// The claim is reserved for that PodGroup.
bool is_reserved_for_group_of(const api::Pod& pod, const api::ResourceClaim& claim);
bool is_group_reference(const api::ResourceClaimConsumerReference& consumer);
api::ResourceClaimConsumerReference group_reference(const api::PodGroup& group);
// Who is to be reserved so that the pod may use the claim: the pod, or the PodGroup whose claim it is.
api::ResourceClaimConsumerReference consumer_for(const reconcile::View& view, const api::Pod& pod,
                                                 const api::ResourceClaim& claim);
// kubelet starts the pod with the claim: it is reserved for the pod, or for its PodGroup and the pod's entry is the
// PodGroup's.
bool is_usable_by(const reconcile::View& view, const api::Pod& pod, const api::ResourceClaim& claim);
// The PodGroup of scheduling.k8s.io that the pod names; null: it does not exist, or is not known (yet).
const api::PodGroup* pod_group_of(const reconcile::View& view, const api::Pod& pod);

// The pod's entry is a claim of its PodGroup: the PodGroup has an equal entry, or the claim that the entry resolves to
// belongs to the PodGroup already.
bool is_entry_of_group(const reconcile::View& view, const api::Pod& pod, const api::PodResourceClaim& entry);
// Whether it is is not known yet: the PodGroup does not exist, or PodGroups are being listed.
bool may_be_entry_of_group(const reconcile::View& view, const api::Pod& pod);
// The claim is that of an entry of the pod that is the PodGroup's.
bool is_claim_of_group(const reconcile::View& view, const api::Pod& pod, const api::ResourceClaim& claim);
// One sentence for people: why the pod waits for it where this program makes the claims, and what to do.
std::string why_entry_of_group_waits(const api::Pod& pod, const api::PodResourceClaim& entry);

}  // namespace dra::protocol
