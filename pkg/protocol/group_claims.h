// Claims of PodGroups (KEP-5729, DRAWorkloadResourceClaims): a PodGroup lists claims in spec.resourceClaims, and a pod
// of the group that repeats an entry (the same name, claim and template) uses the group's claim. There is one for all
// pods, owned by the PodGroup and reserved for it. This program neither makes nor allocates them: kube-scheduler and
// kube-controller-manager do. Pure functions.
#pragma once

#include <string>

#include "pkg/api/core.h"
#include "pkg/api/resource.h"
#include "pkg/reconcile/view.h"

namespace dra::protocol {

// The claim was made for the PodGroup of scheduling.k8s.io that the pod names.
bool is_made_for_group_of(const api::Pod& pod, const api::ResourceClaim& claim);
// The claim is reserved for that PodGroup.
bool is_reserved_for_group_of(const api::Pod& pod, const api::ResourceClaim& claim);

// The pod's entry is a claim of its PodGroup: the PodGroup has an equal entry, or the claim that the entry resolves to
// belongs to the PodGroup already.
bool is_entry_of_group(const reconcile::View& view, const api::Pod& pod, const api::PodResourceClaim& entry);
// Whether it is is not known yet: the PodGroup does not exist, or PodGroups are being listed.
bool may_be_entry_of_group(const reconcile::View& view, const api::Pod& pod);
// One sentence for people: why the pod waits for it here, and what to do.
std::string why_entry_of_group_waits(const api::Pod& pod, const api::PodResourceClaim& entry);

}  // namespace dra::protocol
