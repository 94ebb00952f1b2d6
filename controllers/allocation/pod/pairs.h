// The pairs that a pod and its claims ask for, where the manager decides.
#pragma once

#include <optional>
#include <vector>

#include "controllers/allocation/pod/context.h"
#include "pkg/allocator/pairs.h"

namespace dra::allocation {

// Nullopt: one of the annotations is malformed. It is not ignored, because the pod would run without what it relies on:
// the pod waits, an event quotes the part, and an allocation of a sibling claim that is not proven yet is withdrawn.
std::optional<std::vector<allocator::PairRule>> pairs_asked(const PodContext& context,
                                                            const std::vector<protocol::ClaimState>& claims,
                                                            reconcile::ReconcileResult& out);

}  // namespace dra::allocation
