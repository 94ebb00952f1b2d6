// The durable proof that an allocation of ours over-commits nothing (docs/design/arbitration.md, P3): an annotation
// "<pod uid>/<hash of the allocation>" written by compare-and-swap on the claim, together with the finalizer. Pure.
#pragma once

#include <string>
#include <string_view>

#include "pkg/api/resource.h"

namespace dra::reconcile {

inline constexpr std::string_view kProofAnnotation = "dra-controller-manager/proven";

// 16 hexadecimal digits; equal for equal allocations, whatever version of this program wrote them.
std::string allocation_hash(const api::AllocationResult& allocation);
// The annotation's value for the pod whose claim this is.
std::string proof_value(std::string_view pod_uid, const api::AllocationResult& allocation);
// The claim bears a proof of exactly the allocation it has now, and the finalizer.
bool is_proven(const api::ResourceClaim& claim);

}  // namespace dra::reconcile
