#include "controllers/recovery/kept.h"

#include <algorithm>
#include <vector>

#include "pkg/parameters/check.h"
#include "pkg/protocol/groups.h"
#include "pkg/protocol/keep.h"
#include "pkg/protocol/pod_claims.h"

namespace dra::recovery {

using namespace protocol;
using reconcile::View;

namespace {

constexpr size_t kMostParameters = size_t{64} << 10;  // bytes that are read of a pod's
// Drivers that use Kubernetes' decoder for their parameters pass its words on.
constexpr std::string_view kDecoderRefuses = "strict decoding error";

// What the driver refuses by name is no fault of a device: another one is refused, too.
std::string refused_parameters(const std::string& holder, const api::OpaqueConfig& opaque, size_t& read) {
  if (opaque.at_entry >= 0 || opaque.parameters_json.size() > kMostParameters - read) return "";
  read += opaque.parameters_json.size();
  const auto problems = parameters::check_parameters_text(opaque.driver, opaque.parameters_json);
  if (problems.empty()) return "";
  const std::string path = path_text(problems.front());
  return "driver " + opaque.driver + " refuses the parameters of " + holder + (path.empty() ? "" : " (" + path + ")") +
         ": " + problems.front().text + "; no other device helps: mend them, and make the claim and the pod anew";
}

// The configuration in the allocation is what the driver gets: that of the claim and of its classes.
std::string why_refused(const std::vector<const api::ResourceClaim*>& claims, const Failures& failures) {
  size_t read = 0;
  for (const api::ResourceClaim* claim : claims) {
    if (!claim->status.allocation) continue;
    for (const api::DeviceAllocationConfiguration& config : claim->status.allocation->config)
      if (config.opaque)
        if (std::string why = refused_parameters("ResourceClaim " + claim->metadata.key(), *config.opaque, read);
            !why.empty())
          return why;
  }
  if (failures.note.find(kDecoderRefuses) != std::string::npos)
    return "its driver cannot read the parameters of its claims; no other device helps: mend them, and make the claim "
           "and the pod anew";
  return "";
}

// Of a claim that outlives the pod. Without a running consumer it is freed when its last pod is gone.
std::string why_claim_stays(const View& view, const api::Pod& pod, const api::ResourceClaim& claim) {
  if (is_for_pod(pod, claim)) return "";
  const std::string name = "ResourceClaim " + claim.metadata.key();
  for (const api::ResourceClaimConsumerReference& consumer : claim.status.reserved_for) {
    if (consumer.uid == pod.metadata.uid || is_keep_reference(consumer)) continue;
    if (!is_pod_reference(consumer)) return name + " is reserved for " + consumer.resource + " " + consumer.name;
    const api::Pod* other = view.pod(claim.metadata.ns + "/" + consumer.name);
    // One that has not begun may begin: only its own failures say that it cannot.
    if (other != nullptr && other->metadata.uid == consumer.uid && !other->done() &&
        !(may_fail(*other) && failures_of(view, *other).any()))
      return name + " is in use by pod " + consumer.name +
             " and keeps its devices; end that pod, or give this one a "
             "claim of its own";
  }
  return "";
}

}  // namespace

std::string why_kept(const View& view, const api::Pod& pod, const Failures& failures) {
  const api::OwnerReference* owner = pod.metadata.controller();
  if (owner == nullptr) return "no controller makes it again: delete it and create another one";
  if (owner->kind == "DaemonSet" || owner->kind == "Node")
    return owner->kind + " " + owner->name + " would make it again on the same node: look at the driver's log there";
  if (const auto group = group_of(pod))
    return "it is a member of " + group->shown() + ", whose pods are placed together";
  std::vector<const api::ResourceClaim*> claims;
  for (const std::string& key : claim_keys_of(pod)) {
    const api::ResourceClaim* claim = view.claim(key);
    if (claim == nullptr) return "ResourceClaim " + key + " is not known";
    claims.push_back(claim);
  }
  if (std::string why = why_refused(claims, failures); !why.empty()) return why;
  for (const api::ResourceClaim* claim : claims) {
    if (!claim->status.allocation) return "ResourceClaim " + claim->metadata.key() + " is not allocated";
    if (!is_allocated_by_us(*claim))
      return "the devices of ResourceClaim " + claim->metadata.key() +
             " were allocated by another program, which may choose the same again";
    if (std::string why = why_claim_stays(view, pod, *claim); !why.empty()) return why;
  }
  return "";
}

}  // namespace dra::recovery
