#include "pkg/inspect/chain.h"

#include <algorithm>

#include "pkg/api/selectors.h"
#include "pkg/reconcile/device_health.h"
#include "pkg/reconcile/pod_claims.h"

namespace dra::inspect {
namespace {

BrokenLink broken(Break kind, std::string link, std::string text, std::string to_do) {
  return {kind, "", std::move(link), std::move(text), std::move(to_do)};
}

std::string claim_text(const api::ResourceClaim& claim) {
  return "ResourceClaim " + claim.metadata.key();
}

std::optional<BrokenLink> broken_device(const State& state, const api::ResourceClaim& claim,
                                        const api::DeviceRequestAllocationResult& result) {
  const std::string device = result.driver + "/" + result.pool + "/" + result.device;
  const auto pool = state.inventory.pool(result.driver, result.pool);
  if (!pool || pool->seen_slices == 0)
    return broken(Break::kDriverAbsent, "device -> driver",
                  "driver " + result.driver + " publishes no slices of pool " + result.pool + " (device " + device +
                      " of " + claim_text(claim) + ")",
                  "see whether the driver's pod runs on the node: kubectl get pods -A -o wide");
  if (pool->state != inventory::PoolState::kComplete)
    return broken(Break::kPoolUnusable, "device -> driver",
                  "pool " + result.pool + " of driver " + result.driver + " is " +
                      std::string(inventory::pool_state_name(pool->state)) + ": " + pool->reason,
                  "restart the driver's pod on that node if it stays so");
  const auto info = state.inventory.device({result.driver, result.pool, result.device});
  if (!info)
    return broken(Break::kDeviceGone, "allocation -> device",
                  "device " + device + " of " + claim_text(claim) + " is not published any more",
                  "delete the pods of the claim: they get another device");
  for (const api::DeviceTaint& taint : info->taints)
    if (taint.effect == "NoExecute" && !api::tolerates(result.tolerations, taint))
      return broken(Break::kDeviceTainted, "allocation -> device",
                    "device " + device + " has taint " + taint.key + (taint.value.empty() ? "" : "=" + taint.value) +
                        ":NoExecute",
                    "its pods are evicted; remove the taint or tolerate it in the request");
  return std::nullopt;
}

// A device that its driver reports as not ready, or, according to kubelet, as unhealthy.
std::optional<BrokenLink> unready_device(const State& state, const api::ResourceClaim& claim, const api::Pod* pod) {
  std::vector<reconcile::DeviceTrouble> troubles = reconcile::troubles_of(claim, nullptr);
  if (pod != nullptr)
    for (reconcile::DeviceTrouble& trouble : reconcile::troubles_of(*pod, claim))
      troubles.push_back(std::move(trouble));
  if (troubles.empty()) return std::nullopt;
  const reconcile::DeviceTrouble& first = troubles.front();
  const bool unhealthy = first.kind == reconcile::DeviceTrouble::Kind::kUnhealthy;
  const std::string since = !first.since.empty() ? " for " + age_text(first.since, state.objects.taken)
                            : unhealthy          ? " (since when is not said)"
                                                 : "";
  return broken(unhealthy ? Break::kUnhealthy : Break::kPrepareFailing, "node -> driver",
                "device " + first.device + " of " + claim_text(claim) + ": " + first.why + since,
                unhealthy ? "taint the device (kubectl dra taint), then delete the pod: a new one gets another device"
                          : "look at the log of the driver on that node");
}

std::optional<BrokenLink> broken_reservation(const api::ResourceClaim& claim, const api::Pod& pod) {
  if (reconcile::is_reserved_for(claim, pod.metadata.uid) || pod.node_name.empty() || pod.terminal())
    return std::nullopt;
  for (const auto& consumer : claim.status.reserved_for)
    if (reconcile::is_pod_reference(consumer) && consumer.name == pod.metadata.name)
      return broken(Break::kWrongReservation, "allocation -> reservation",
                    claim_text(claim) + " is reserved for an older pod of the name " + pod.metadata.name + " (uid " +
                        consumer.uid + ")",
                    "the reservation is pruned once that pod is known to be gone; if it stays: kubectl dra doctor");
  return broken(Break::kNotReserved, "allocation -> reservation",
                claim_text(claim) + " is not reserved for the pod, so kubelet does not start it",
                claim.status.reserved_for.size() >= api::kMaxReservedFor
                    ? "256 pods use the claim already, which is the limit: use another claim"
                    : "delete the pod: who binds it again reserves first");
}

std::optional<BrokenLink> broken_entry(const State& state, const api::Pod& pod, const api::PodResourceClaim& entry,
                                       Chain& chain) {
  const Objects& objects = state.objects;
  const std::string prefix = pod.metadata.ns + "/";
  const reconcile::ResolvedClaim resolved = reconcile::resolve_created_claim(pod, entry);
  if (resolved.state == reconcile::ResolvedClaim::State::kNotNeeded) return std::nullopt;
  const std::string& name = resolved.name;
  const auto found = objects.claims.find(prefix + name);
  const bool published = reconcile::resolve_claim(pod, entry).state == reconcile::ResolvedClaim::State::kNamed;
  // What may not be listed is not gone.
  if (found == objects.claims.end() && objects.hides_in("resourceclaims", pod.metadata.ns)) {
    ++chain.hidden;
    return std::nullopt;
  }
  if (found == objects.claims.end() && !published && entry.resource_claim_template_name) {
    const std::string key = prefix + *entry.resource_claim_template_name;
    if (!objects.templates.contains(key) && !objects.hides_in("resourceclaimtemplates", pod.metadata.ns))
      return broken(Break::kTemplateMissing, "pod -> template",
                    "ResourceClaimTemplate " + key + " (used by pod claim " + quote(entry.name) + ") does not exist",
                    "create it; nothing else is needed");
    return broken(
        Break::kClaimNotMade, "template -> claim", "no claim was made from ResourceClaimTemplate " + key + " yet",
        "kube-controller-manager's resourceclaim-controller makes it, or this manager with --claim-templates=own");
  }
  if (found == objects.claims.end())
    return broken(Break::kClaimMissing, "pod -> claim",
                  "ResourceClaim " + prefix + name + " (used by pod claim " + quote(entry.name) + ") does not exist",
                  entry.resource_claim_template_name ? "delete the pod: a new one gets a new claim" : "create it");
  const api::ResourceClaim& claim = *found->second;
  if (resolved.must_check_owner && !reconcile::is_for_pod(pod, claim))
    return broken(
        Break::kWrongOwner, "pod -> claim",
        claim_text(claim) + " was not made for this pod (uid " + pod.metadata.uid + ")",
        "delete the claim if nothing uses it: kubectl delete resourceclaim -n " + pod.metadata.ns + " " + name);
  chain.claims.push_back(found->second);
  chain.entries.push_back(entry.name);
  return broken_claim(state, claim, &pod);
}

}  // namespace

std::optional<BrokenLink> broken_claim(const State& state, const api::ResourceClaim& claim, const api::Pod* pod) {
  const Objects& objects = state.objects;
  if (claim.metadata.deleting() && claim.metadata.has_finalizer(api::kDeleteProtectionFinalizer) &&
      !objects.hides("pods")) {
    const bool used =
        std::any_of(claim.status.reserved_for.begin(), claim.status.reserved_for.end(), [&](const auto& consumer) {
          const auto known = objects.pods.find(claim.metadata.ns + "/" + consumer.name);
          return !reconcile::is_pod_reference(consumer) ||
                 (known != objects.pods.end() && known->second->metadata.uid == consumer.uid &&
                  !known->second->terminal());
        });
    if (!used)
      return broken(
          Break::kClaimStuck, "claim -> finalizer",
          claim_text(claim) + " has been deleted for " + age_text(claim.metadata.deletion_timestamp, objects.taken) +
              " and no pod uses it, but its finalizer " + std::string(api::kDeleteProtectionFinalizer) + " keeps it",
          "who made the allocation should free it; if nobody does: kubectl patch resourceclaim -n " +
              claim.metadata.ns + " " + claim.metadata.name +
              " --type=merge -p '{\"metadata\":{\"finalizers\":null}}'");
  }
  if (!claim.status.allocation) {
    if (pod != nullptr && pod->node_name.empty()) return std::nullopt;  // it waits: not broken
    return broken(Break::kNotAllocated, "claim -> allocation", claim_text(claim) + " is not allocated",
                  "its pod was bound without it; delete the pod");
  }
  if (pod != nullptr && !pod->node_name.empty()) {
    const auto node = objects.nodes.find(pod->node_name);
    const auto& selector = claim.status.allocation->node_selector;
    const bool known = node != objects.nodes.end();
    if (selector && known && !api::matches(*selector, pod->node_name, node->second->metadata.labels))
      return broken(Break::kAllocatedElsewhere, "allocation -> node",
                    "the devices of " + claim_text(claim) + " can be used on " +
                        (api::only_node(*claim.status.allocation) ? *api::only_node(*claim.status.allocation)
                                                                  : std::string("other nodes")) +
                        " only, but the pod is on " + pod->node_name,
                    "delete the pod: a new one goes where the devices are");
    if (auto unreserved = broken_reservation(claim, *pod)) return unreserved;
  }
  if (pod != nullptr && pod->terminal()) return std::nullopt;
  if (!objects.hides("resourceslices"))
    for (const auto& result : claim.status.allocation->results)
      if (auto found = broken_device(state, claim, result)) return found;
  return unready_device(state, claim, pod);
}

Chain chain_of(const State& state, const api::Pod& pod) {
  Chain chain;
  for (const api::PodResourceClaim& entry : pod.resource_claims)
    if (auto found = broken_entry(state, pod, entry, chain)) {
      found->entry = entry.name;
      chain.broken.push_back(std::move(*found));
    }
  // The devices are as they should be, and yet kubelet has not begun.
  if (chain.broken.empty() && !pod.resource_claims.empty() && !pod.node_name.empty() && pod.phase == "Pending")
    for (const api::Condition& condition : pod.conditions)
      if (condition.type == "PodReadyToStartContainers" && condition.status == "False")
        chain.broken.push_back(
            broken(Break::kPrepareFailing, "node -> driver",
                   "kubelet on " + pod.node_name + " has not prepared the pod for " +
                       age_text(condition.last_transition_time, state.objects.taken),
                   "kubectl describe pod -n " + pod.metadata.ns + " " + pod.metadata.name + " shows kubelet's events"));
  return chain;
}

}  // namespace dra::inspect
