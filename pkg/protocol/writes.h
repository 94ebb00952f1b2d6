// Builders of the writes that reconcilers return. Each write carries uid and resourceVersion of the object it was
// decided on, so that the API server refuses it if the object was replaced or has changed. Pure functions.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "pkg/api/core.h"
#include "pkg/api/resource.h"
#include "pkg/reconcile/effect.h"
#include "pkg/reconcile/view.h"

namespace dra::protocol {

reconcile::Ref ref_of(reconcile::Kind kind, const api::ObjectMeta& metadata);
inline reconcile::Ref ref_of(const api::Pod& pod) {
  return ref_of(reconcile::Kind::kPod, pod.metadata);
}
inline reconcile::Ref ref_of(const api::ResourceClaim& claim) {
  return ref_of(reconcile::Kind::kClaim, claim.metadata);
}

// Sets status.reservedFor to exactly these consumers and leaves the allocation alone.
reconcile::Write write_reservations(const api::ResourceClaim& claim,
                                    const std::vector<api::ResourceClaimConsumerReference>& consumers,
                                    std::string purpose);
// Clears allocation and reservations in one write.
reconcile::Write write_deallocation(const api::ResourceClaim& claim, std::string purpose);
// Sets the allocation of an unallocated claim, and its consumers, in one write, under the allocation manager. The
// claim's devices count as taken from now on. A merge patch; a JSON patch if the API server has to copy parameters that
// are not kept (api/claim_bounds.h).
reconcile::Write write_allocation(const api::ResourceClaim& claim, const api::AllocationResult& allocation,
                                  const std::vector<api::ResourceClaimConsumerReference>& consumers,
                                  std::string purpose);
// The same, but its body is built by build_body().
reconcile::Write write_allocation_later(std::shared_ptr<const api::ResourceClaim> claim,
                                        api::AllocationResult allocation,
                                        std::vector<api::ResourceClaimConsumerReference> consumers,
                                        std::string purpose);
// Of any write, before it is sent.
void build_body(reconcile::Write& write);
// Replaces metadata.finalizers and sets (or, without a value, removes) annotations.
reconcile::Write write_metadata(const api::ResourceClaim& claim, const std::vector<std::string>& finalizers,
                                const std::map<std::string, std::optional<std::string>>& annotations,
                                std::string purpose);
reconcile::Write write_delete(reconcile::Kind kind, const api::ObjectMeta& metadata, std::string purpose);

// POST pods/<name>/eviction of exactly this version of the pod.
reconcile::Write write_eviction(const api::Pod& pod, std::string purpose);

// status.resourceClaimStatuses of a pod, complete, by server-side apply; pinned to the pod's uid, because others may
// write the status at the same time.
reconcile::Write write_claim_statuses(const api::Pod& pod, const std::vector<api::PodResourceClaimStatus>& statuses,
                                      std::string purpose);
// The same for a pod whose status nobody else has a reason to write (gated, or bound by us): a merge patch of this
// version of the pod, which costs the server less (docs/decisions/which-write.md). `nominate` is
// status.nominatedNodeName: empty removes it, nullopt leaves it as it is.
reconcile::Write write_claim_statuses_and_node(const api::Pod& pod,
                                               const std::vector<api::PodResourceClaimStatus>& statuses,
                                               const std::optional<std::string>& nominate, std::string purpose);
// The claim for an entry of the pod, from its template. `name` is the claim's name.
reconcile::Write write_generated_claim(const api::Pod& pod, const std::string& entry,
                                       const api::ResourceClaimTemplate& claim_template, const std::string& name,
                                       std::string_view dra_api_version);

// POST pods/<name>/binding: binds this version of the pod to the node; 409 if the pod has changed since. The answer is
// not a pod; the watch delivers the pod.
reconcile::Write write_binding(const api::Pod& pod, const std::string& node);
// Removes the gate and, in the same patch, adds the requirements to every term of the pod's required node affinity
// (which is created if missing). A term without requirements matches nothing and stays as it is.
// The same patch removes the pod's announcement that it leaves claims (leaving.h), unless a Binding of ours follows,
// which heeds it.
reconcile::Write write_ungated(const api::Pod& pod, std::string_view gate, const api::NodeSelectorTerm& narrowed_to,
                               bool keeps_announcement = false);

// Clears status.nominatedNodeName, whoever wrote it; pinned to the pod's uid. Only other programs read it.
reconcile::Write write_nomination_removed(const api::Pod& pod, std::string purpose);

// Sets one annotation of the pod; an empty value removes it.
reconcile::Write write_pod_annotation(const api::Pod& pod, std::string_view name, const std::string& value,
                                      std::string purpose);

// The pod condition that lets workload controllers distinguish disruptions from failures (KEP-3329).
inline constexpr std::string_view kDisruptionTarget = "DisruptionTarget";

// Sets condition DisruptionTarget of the pod to True by server-side apply, under a field manager of its own; pinned to
// the pod's uid.
reconcile::Write write_disruption_target(const reconcile::View& view, const api::Pod& pod, std::string_view reason,
                                         std::string_view message);

// Sets one condition of a DeviceTaintRule by server-side apply under kEvictionManager; pinned to the rule's uid. Fills
// in the condition's time and generation.
reconcile::Write write_rule_condition(const reconcile::View& view, const api::DeviceTaintRule& rule,
                                      const api::Condition& condition);

// The claim for the extended resources that the pod's containers ask for: owned by the pod, marked by
// api::kExtendedResourceClaimAnnotation. AlreadyExists if it was made before: the name is extended_claim_name().
reconcile::Write write_extended_claim(const api::Pod& pod, const std::vector<api::DeviceRequest>& requests,
                                      std::string_view dra_api_version);
// status.extendedResourceClaimStatus of the pod, by server-side apply; pinned to the pod's uid.
reconcile::Write write_extended_status(const api::Pod& pod, const api::PodExtendedResourceClaimStatus& status);

// status.nodeAllocatableResourceClaimStatuses of the pod, in the form of 1.36; none: the field is removed. A merge
// patch, bound to the pod's version.
reconcile::Write write_claims_take(const api::Pod& pod, const std::vector<api::ClaimTakes>& takes);

// Sets one condition of the pod's status by server-side apply, under a field manager of that type alone: apply removes
// fields that a manager leaves out. Pinned to the pod's uid. Keeps lastTransitionTime if the status is the same.
// `cause`: also goes into the pod's history (history.h); empty: the write has none.
reconcile::Write write_condition(const reconcile::View& view, const api::Pod& pod, const api::Condition& condition,
                                 std::string purpose, std::string_view cause = {});

// Emits the event unless it repeats the last one of its reason about this uid.
void emit_once(const reconcile::View& view, reconcile::ReconcileResult& outcome, reconcile::Event event);

}  // namespace dra::protocol
