// The pairs that a pod and its claims ask for (dra-controller-manager/pairs), with the names of the pod's entries
// resolved to the claims that they mean. Pure.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "pkg/alignment/pod_pairs.h"
#include "pkg/api/core.h"
#include "pkg/api/resource.h"

namespace dra::protocol {

// What the pod calls these claims: those that exist, and those that are only supposed, under the name that they would
// get. Entries that mean none of them are left out.
std::vector<alignment::ClaimName> claim_names(const api::Pod& pod,
                                              std::span<const std::shared_ptr<const api::ResourceClaim>> claims);

// `claims`: the pod's, in its order, as a search is asked for them; also those that are only supposed, under the name
// that they would get. Costs one look-up per claim if neither they nor the pod have the annotation.
alignment::PodPairs pairs_of_pod(const api::Pod& pod,
                                 std::span<const std::shared_ptr<const api::ResourceClaim>> claims);

}  // namespace dra::protocol
