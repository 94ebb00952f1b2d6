// The durable proof that an allocation of ours does not over-commit (docs/design/arbitration.md, P3): an annotation
// "<pod uid>/<hash of the allocation>" written by compare-and-swap on the claim, together with the finalizer. Pure.
#pragma once

#include <string>
#include <string_view>

#include "pkg/api/resource.h"

namespace dra::protocol {

inline constexpr std::string_view kProofAnnotation = "dra-controller-manager/proven";
// Beside the mark: the pods that may use the allocation (users.h), first the pod whose uid is in the mark.
inline constexpr std::string_view kProvenForAnnotation = "dra-controller-manager/proven-for";

// SHA-256 of the pod's uid, the devices, what is consumed of them, and the nodes where they can be used, as 64
// hexadecimal digits; equal for equal allocations, whatever version of this program wrote them.
std::string allocation_hash(std::string_view pod_uid, const api::AllocationResult& allocation);
// The annotation's value for the pod whose claim this is.
std::string proof_value(std::string_view pod_uid, const api::AllocationResult& allocation);
// The uid in the claim's mark: of the pod that proved it. Empty if there is no mark.
std::string_view proven_for(const api::ResourceClaim& claim);
// The claim's mark is of this allocation: if it were written now, it would count as proven at once.
bool bears_mark_of(const api::ResourceClaim& claim, const api::AllocationResult& allocation);
// The claim's mark is of another allocation than it has now: another writer replaced the allocation under the mark.
bool is_mark_outdated(const api::ResourceClaim& claim);
// The claim bears a proof of exactly the allocation it has now, and the finalizer.
bool is_proven(const api::ResourceClaim& claim);

}  // namespace dra::protocol
