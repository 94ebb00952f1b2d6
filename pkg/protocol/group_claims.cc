#include "pkg/protocol/group_claims.h"

#include <algorithm>

#include "pkg/protocol/pod_claims.h"

namespace dra::protocol {

using namespace reconcile;
namespace {

constexpr std::string_view kGroupOfPodGroups = "scheduling.k8s.io";

const api::OwnerReference* group_owner(const api::ResourceClaim& claim) {
  const api::OwnerReference* owner = claim.metadata.controller();
  const bool is_group = owner != nullptr && owner->kind == "PodGroup" &&
                        owner->api_version.starts_with(std::string(kGroupOfPodGroups) + "/");
  return is_group ? owner : nullptr;
}

}  // namespace

bool is_group_reference(const api::ResourceClaimConsumerReference& consumer) {
  return consumer.api_group == kGroupOfPodGroups && consumer.resource == "podgroups";
}

api::ResourceClaimConsumerReference group_reference(const api::PodGroup& group) {
  return {std::string(kGroupOfPodGroups), "podgroups", group.metadata.name, group.metadata.uid};
}

const api::PodGroup* pod_group_of(const View& view, const api::Pod& pod) {
  if (pod.pod_group_name.empty() || view.groups_known(GroupApi::kCore).state != GroupsKnown::State::kKnown)
    return nullptr;
  return view.pod_group(GroupApi::kCore, pod.metadata.ns + "/" + pod.pod_group_name);
}

bool is_made_for_group_of(const api::Pod& pod, const api::ResourceClaim& claim) {
  const api::OwnerReference* owner = group_owner(claim);
  return owner != nullptr && !pod.pod_group_name.empty() && owner->name == pod.pod_group_name &&
         claim.metadata.ns == pod.metadata.ns;
}

bool is_made_for(const api::PodGroup& group, const api::ResourceClaim& claim) {
  const api::OwnerReference* owner = group_owner(claim);
  return owner != nullptr && owner->uid == group.metadata.uid && claim.metadata.ns == group.metadata.ns;
}

bool is_reserved_for_group_of(const api::Pod& pod, const api::ResourceClaim& claim) {
  const auto& reserved = claim.status.reserved_for;
  return !pod.pod_group_name.empty() && claim.metadata.ns == pod.metadata.ns &&
         std::any_of(reserved.begin(), reserved.end(), [&](const auto& consumer) {
           return is_group_reference(consumer) && consumer.name == pod.pod_group_name;
         });
}

bool is_entry_of_group(const View& view, const api::Pod& pod, const api::PodResourceClaim& entry) {
  if (pod.pod_group_name.empty()) return false;
  if (const api::PodGroup* group = pod_group_of(view, pod)) {
    const auto& entries = group->resource_claims;
    if (std::find(entries.begin(), entries.end(), entry) != entries.end()) return true;
  }
  const ResolvedClaim resolved = resolve_claim(pod, entry);
  if (resolved.state != ResolvedClaim::State::kNamed) return false;
  const api::ResourceClaim* claim = view.claim(pod.metadata.ns + "/" + resolved.name);
  return claim != nullptr && (is_made_for_group_of(pod, *claim) || is_reserved_for_group_of(pod, *claim));
}

bool is_claim_of_group(const View& view, const api::Pod& pod, const api::ResourceClaim& claim) {
  if (pod.pod_group_name.empty() || claim.metadata.ns != pod.metadata.ns) return false;
  return std::any_of(pod.resource_claims.begin(), pod.resource_claims.end(), [&](const api::PodResourceClaim& entry) {
    const ResolvedClaim resolved = resolve_claim(pod, entry);
    return resolved.state == ResolvedClaim::State::kNamed && resolved.name == claim.metadata.name &&
           is_entry_of_group(view, pod, entry);
  });
}

api::ResourceClaimConsumerReference consumer_for(const View& view, const api::Pod& pod,
                                                 const api::ResourceClaim& claim) {
  const api::PodGroup* group = pod_group_of(view, pod);
  if (group == nullptr || !is_claim_of_group(view, pod, claim)) return pod_reference(pod);
  // The view may still have an earlier PodGroup of the name: the claim names its own.
  if (group_owner(claim) != nullptr && !is_made_for(*group, claim)) return pod_reference(pod);
  return group_reference(*group);
}

bool is_usable_by(const View& view, const api::Pod& pod, const api::ResourceClaim& claim) {
  return is_reserved_for(claim, pod.metadata.uid) ||
         (is_reserved_for_group_of(pod, claim) && is_claim_of_group(view, pod, claim));
}

bool may_be_entry_of_group(const View& view, const api::Pod& pod) {
  if (pod.pod_group_name.empty()) return false;
  switch (view.groups_known(GroupApi::kCore).state) {
    case GroupsKnown::State::kListing:
      return true;
    case GroupsKnown::State::kKnown:
      return view.pod_group(GroupApi::kCore, pod.metadata.ns + "/" + pod.pod_group_name) == nullptr;
    case GroupsKnown::State::kCannot:
      break;
  }
  return false;
}

std::string why_entry_of_group_waits(const api::Pod& pod, const api::PodResourceClaim& entry) {
  return "claim entry \"" + entry.name + "\" is a claim of PodGroup " + pod.metadata.ns + "/" + pod.pod_group_name +
         " as a whole (its spec.resourceClaims), which this manager does not make with --claim-templates=own: run it "
         "with --claim-templates=observe beside kube-controller-manager (feature gate DRAWorkloadResourceClaims), or "
         "give the pod's entry another name than the PodGroup's";
}

}  // namespace dra::protocol
