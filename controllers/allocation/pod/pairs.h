// The pairs that a pod and its claims ask for (dra-controller-manager/pairs), as the allocator takes them, and the
// report of an annotation that cannot be followed: the pod waits, because its tenant would believe to be on the root.
// Pure.
#pragma once

#include <optional>
#include <vector>

#include "controllers/allocation/pod/context.h"
#include "pkg/alignment/pod_pairs.h"
#include "pkg/allocator/pairs.h"
#include "pkg/protocol/claim_state.h"

namespace dra::allocation {

// Of the claims of PodState::claims. One look-up in the annotations of each where none asks for pairs.
alignment::PodPairs read_pairs(const api::Pod& pod, const std::vector<protocol::ClaimState>& claims);

// The same as rules over the claims that are not allocated; none where they are refused.
std::vector<allocator::PairRule> pair_rules_of(const PodContext& context);
// The rules; nothing: they are refused, and it was reported.
std::optional<std::vector<allocator::PairRule>> pairs_of_pod(const PodContext& context,
                                                             reconcile::ReconcileResult& out);

// An event on the pod, and on the claim that has the annotation; the condition; a count.
void report_refused_pairs(const PodContext& context, const alignment::PodPairs& pairs, reconcile::ReconcileResult& out);

}  // namespace dra::allocation
