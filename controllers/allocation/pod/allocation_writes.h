// P1 as writes: the status of a claim with its allocation, on behalf of a pod. One status write a claim: allocation
// with timestamp, node selector, the pod in reservedFor.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "controllers/allocation/pod/context.h"
#include "pkg/allocator/allocator.h"

namespace dra::allocation {

// P1 reserves the claim for the pod. Not if others bound the pod (P7), or may have since it left the claim (P8):
// kubelet would start it with an allocation that nobody has proven. Then it is reserved after the proof.
bool is_reserved_at_once(const PodContext& context, const api::ResourceClaim& claim);
// A claim of the pod's PodGroup: it is reserved for one pod until it is proven, then for the PodGroup (P9).
bool is_of_group(const PodContext& context, const api::ResourceClaim& claim);
// Adds our entry to the consumers of a claim that asks to keep its devices (pkg/protocol/keep.h), where the server
// allows it: it must be there before the last pod goes. Nothing without consumers: lifecycle adds it later.
void keep_with(const PodContext& context, const api::ResourceClaim& claim,
               std::vector<api::ResourceClaimConsumerReference>& consumers);
reconcile::Write allocation_write(const PodContext& context, const std::shared_ptr<const api::ResourceClaim>& claim,
                                  api::AllocationResult allocation,
                                  std::vector<api::ResourceClaimConsumerReference> consumers, const std::string& node);
// The writes for all claims of a request, and the decision for the log and the pod's event. Observe mode writes
// nothing: not for it.
void write_decision(const PodContext& context, const allocator::Request& request, const allocator::Decision& decision,
                    reconcile::ReconcileResult& out);

}  // namespace dra::allocation
