#include "pkg/inspect/verbs/chain.h"

#include <algorithm>

#include "pkg/api/selectors.h"
#include "pkg/inspect/state/quota.h"
#include "pkg/nodes/unready.h"
#include "pkg/protocol/device_health.h"
#include "pkg/protocol/group_claims.h"
#include "pkg/protocol/groups.h"
#include "pkg/protocol/keep.h"
#include "pkg/protocol/pod_claims.h"

namespace dra::inspect {
namespace {

BrokenLink broken(Break kind, std::string link, std::string text, std::string to_do) {
  return {kind, "", std::move(link), std::move(text), std::move(to_do), ""};
}

std::string claim_text(const api::ResourceClaim& claim) {
  return "ResourceClaim " + claim.metadata.key();
}

// The node on which the claim's devices are: from its allocation, else the pod's.
std::string node_of_devices(const api::ResourceClaim& claim, const api::Pod* pod) {
  if (const std::string* only = api::only_node(*claim.status.allocation)) return *only;
  return pod == nullptr ? "" : pod->node_name;
}

std::string read_driver_log(const std::string& driver, const std::string& node) {
  return "look at the pod of driver " + driver + (node.empty() ? "" : " on node " + node) +
         " and its log: kubectl get pods -A -o wide" + (node.empty() ? "" : " --field-selector spec.nodeName=" + node);
}

// What helps a pod that cannot use what it was given: another pod, if somebody makes one.
std::string with_another_pod(const api::Pod* pod, const std::string& gets) {
  if (pod == nullptr) return "its pods cannot start with it; pods that are made anew get " + gets;
  if (const auto group = protocol::group_of(*pod))
    return "it is a member of " + group->shown() + ", whose pods are placed together: do not delete it alone";
  const std::string again = made_again_by(*pod);
  if (again.empty())
    return "nobody makes this pod again, so it is not to be deleted for this: create another one, which gets " + gets;
  return "if it stays so: kubectl delete pod -n " + pod->metadata.ns + " " + pod->metadata.name + "; " + again +
         ", which gets " + gets;
}

std::optional<BrokenLink> broken_device(const State& state, const api::ResourceClaim& claim, const api::Pod* pod,
                                        const api::DeviceRequestAllocationResult& result) {
  const std::string device = result.driver + "/" + result.pool + "/" + result.device;
  const std::string node = node_of_devices(claim, pod);
  const auto pool = state.inventory.pool_on(result.driver, result.pool, node);
  if (!pool || pool->seen_slices == 0)
    return broken(Break::kDriverAbsent, "device -> driver",
                  "driver " + result.driver + " publishes no slices of pool " + result.pool + " (device " + device +
                      " of " + claim_text(claim) + ")",
                  read_driver_log(result.driver, node));
  if (pool->state != inventory::PoolState::kComplete)
    return broken(Break::kPoolUnusable, "device -> driver",
                  "pool " + result.pool + " of driver " + result.driver + " is " +
                      std::string(inventory::pool_state_name(pool->state)) + ": " + pool->reason,
                  read_driver_log(result.driver, node));
  const auto info = state.inventory.device_on({result.driver, result.pool, result.device}, node);
  if (!info)
    return broken(Break::kDeviceGone, "allocation -> device",
                  "device " + device + " of " + claim_text(claim) + " is not published any more",
                  read_driver_log(result.driver, node) + "; " + with_another_pod(pod, "another device"));
  for (const api::DeviceTaint& taint : info->taints)
    if (taint.effect == "NoExecute" && !api::tolerates(result.tolerations, taint)) {
      BrokenLink link = broken(Break::kDeviceTainted, "allocation -> device",
                               "device " + device + " has taint " + taint.key +
                                   (taint.value.empty() ? "" : "=" + taint.value) + ":NoExecute",
                               "its pods are evicted; remove the taint or tolerate it in the request");
      link.since = taint.time_added;
      return link;
    }
  return std::nullopt;
}

// A device that its driver reports as not ready, or, according to kubelet, as unhealthy.
std::optional<BrokenLink> unready_device(const State& state, const api::ResourceClaim& claim, const api::Pod* pod) {
  std::vector<protocol::DeviceTrouble> troubles = protocol::troubles_of(claim, nullptr);
  if (pod != nullptr)
    for (protocol::DeviceTrouble& trouble : protocol::troubles_of(*pod, claim)) troubles.push_back(std::move(trouble));
  if (troubles.empty()) return std::nullopt;
  const protocol::DeviceTrouble& first = troubles.front();
  const bool unhealthy = first.kind == protocol::DeviceTrouble::Kind::kUnhealthy;
  const std::string on = state.objects.hides("pods") || pod == nullptr ? "" : pod->node_name;
  BrokenLink link =
      broken(unhealthy ? Break::kUnhealthy : Break::kPrepareFailing, "node -> driver",
             "device " + first.device + " of " + claim_text(claim) + ": " + first.why,
             unhealthy ? "taint the device, so that no other pod gets it: kubectl dra taint; then " +
                             with_another_pod(pod, "another device")
                       : "look at the log of the driver" + (on.empty() ? " on that node" : " on node " + on));
  link.since = first.since;
  return link;
}

// A pod that is bound and has not begun, on a node whose kubelet is not heard.
std::optional<BrokenLink> silent_node(const Objects& objects, const api::Pod& pod) {
  const auto node = objects.nodes.find(pod.node_name);
  if (node == objects.nodes.end() || nodes::unready_taint(*node->second).empty()) return std::nullopt;
  BrokenLink link = broken(Break::kNodeNotReady, "node -> driver",
                           "node " + pod.node_name + " is not ready, so nobody prepares the pod's devices",
                           "kubectl describe node " + pod.node_name + " says why its kubelet is not heard; " +
                               with_another_pod(&pod, "devices of another node"));
  for (const api::Condition& condition : node->second->conditions)
    if (condition.type == "Ready") link.since = condition.last_transition_time;
  return link;
}

std::optional<BrokenLink> broken_reservation(const api::ResourceClaim& claim, const api::Pod& pod) {
  if (protocol::is_reserved_for(claim, pod.metadata.uid) || pod.node_name.empty() || pod.terminal() ||
      protocol::is_reserved_for_group_of(pod, claim))
    return std::nullopt;
  for (const auto& consumer : claim.status.reserved_for)
    if (protocol::is_pod_reference(consumer) && consumer.name == pod.metadata.name)
      return broken(Break::kWrongReservation, "allocation -> reservation",
                    claim_text(claim) + " is reserved for an older pod of the name " + pod.metadata.name + " (uid " +
                        consumer.uid + ")",
                    "the reservation is pruned once that pod is known to be gone; if it stays: kubectl dra doctor");
  return broken(Break::kNotReserved, "allocation -> reservation",
                claim_text(claim) + " is not reserved for the pod, so kubelet does not start it",
                claim.status.reserved_for.size() >= api::kMaxReservedFor
                    ? "256 pods use the claim already, which is the limit: use another claim"
                    : "whoever runs the claim controller reserves it again: kube-controller-manager, or this "
                      "manager's lifecycle; if it stays: kubectl dra doctor");
}

// Another pod's claim is that pod's: nothing is to be deleted while anybody uses it.
std::string wrong_owner_words(const api::ResourceClaim& claim, const api::Pod& pod) {
  const api::OwnerReference* owner = claim.metadata.controller();
  const std::string whose = owner == nullptr ? "has no owner" : "belongs to " + owner->kind + " " + owner->name;
  if (!claim.status.reserved_for.empty() || claim.status.allocation)
    return "the claim " + whose + " and is in use: leave it; " + with_another_pod(&pod, "a claim of its own");
  return "the claim " + whose +
         "; whoever runs the claim controller makes another one for this pod once the name is free";
}

BrokenLink stuck_claim(const api::ResourceClaim& claim) {
  BrokenLink link = broken(Break::kClaimStuck, "claim -> finalizer",
                           claim_text(claim) + " has been deleted and no pod uses it, but its finalizer " +
                               std::string(api::kDeleteProtectionFinalizer) + " keeps it",
                           "who made the allocation should free it; if nobody does: kubectl patch resourceclaim -n " +
                               claim.metadata.ns + " " + claim.metadata.name +
                               " --type=merge -p '{\"metadata\":{\"finalizers\":null}}'");
  link.since = claim.metadata.deletion_timestamp;
  return link;
}

// Whoever makes claims tries again and again while a quota refuses them.
BrokenLink claim_not_made(const Objects& objects, const std::string& key, const api::Pod& pod) {
  const std::string& ns = pod.metadata.ns;
  const std::string none = "no claim was made from ResourceClaimTemplate " + key;
  if (const auto from = objects.templates.find(key); from != objects.templates.end()) {
    const Claim claim = claim_from_template(*from->second, ns, from->second->metadata.name, "");
    if (const auto refusal = QuotaBook(objects, false).refusal(ns, charge_of(objects, *claim)))
      return broken(Break::kQuotaRefuses, "template -> claim", none + ": " + text_of(*refusal, "the claim"),
                    remedy_of(*refusal));
  }
  const std::string unseen = why_quotas_unseen(objects, ns);
  return broken(
      Break::kClaimNotMade, "template -> claim", none + " yet",
      "kube-controller-manager's resourceclaim-controller makes it, or this manager with --claim-templates=own; if it "
      "stays so, the pod's events say what refuses it (a ResourceQuota, a webhook): kubectl describe pod -n " +
          ns + " " + pod.metadata.name + (unseen.empty() ? "" : "; " + unseen));
}

std::optional<BrokenLink> broken_entry(const State& state, const api::Pod& pod, const api::PodResourceClaim& entry,
                                       Chain& chain) {
  const Objects& objects = state.objects;
  const std::string prefix = pod.metadata.ns + "/";
  const protocol::ResolvedClaim resolved = protocol::resolve_created_claim(pod, entry);
  if (resolved.state == protocol::ResolvedClaim::State::kNotNeeded) return std::nullopt;
  const std::string& name = resolved.name;
  const auto found = objects.claims.find(prefix + name);
  if (found == objects.claims.end() && is_entry_of_group(objects, pod, entry)) {
    if (pod.node_name.empty()) return std::nullopt;  // it waits, with its group
    return broken(Break::kClaimMissing, "pod -> claim",
                  "the claim of PodGroup " + prefix + pod.pod_group_name + " (used by pod claim " + quote(entry.name) +
                      ") does not exist",
                  "kube-controller-manager's resourceclaim-controller makes it for the group, with the feature gate "
                  "DRAWorkloadResourceClaims");
  }
  const bool published = protocol::resolve_claim(pod, entry).state == protocol::ResolvedClaim::State::kNamed;
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
    return claim_not_made(objects, key, pod);
  }
  if (found == objects.claims.end())
    return broken(Break::kClaimMissing, "pod -> claim",
                  "ResourceClaim " + prefix + name + " (used by pod claim " + quote(entry.name) + ") does not exist",
                  !entry.resource_claim_template_name ? "create it"
                  : pod.node_name.empty()             ? "whoever runs the claim controller makes another one"
                                                      : with_another_pod(&pod, "a claim of its own"));
  const api::ResourceClaim& claim = *found->second;
  if (resolved.must_check_owner && !protocol::is_for_pod(pod, claim) && !protocol::is_made_for_group_of(pod, claim))
    return broken(Break::kWrongOwner, "pod -> claim",
                  claim_text(claim) + " was not made for this pod (uid " + pod.metadata.uid + ")",
                  wrong_owner_words(claim, pod));
  chain.claims.push_back(found->second);
  chain.entries.push_back(entry.name);
  return broken_claim(state, claim, &pod);
}

// The claim that serves extended resources of a pod on a node (status.extendedResourceClaimStatus). One of a pod that
// waits belongs to the question what it asks for (extended.h).
std::optional<BrokenLink> broken_extended(const State& state, const api::Pod& pod, Chain& chain) {
  const auto& status = pod.extended_resource_claim_status;
  if (!status || status->resource_claim_name.empty() || pod.node_name.empty()) return std::nullopt;
  const Objects& objects = state.objects;
  const std::string key = pod.metadata.ns + "/" + status->resource_claim_name;
  const auto found = objects.claims.find(key);
  if (found == objects.claims.end() && objects.hides_in("resourceclaims", pod.metadata.ns)) {
    ++chain.hidden;
    return std::nullopt;
  }
  if (found == objects.claims.end())
    return pod.terminal()
               ? std::nullopt
               : std::optional(broken(Break::kClaimMissing, "pod -> claim",
                                      "ResourceClaim " + key + " (of the pod's extended resources) does not exist",
                                      with_another_pod(&pod, "a claim of its own")));
  if (!protocol::is_for_pod(pod, *found->second))
    return broken(Break::kWrongOwner, "pod -> claim",
                  claim_text(*found->second) + " was not made for this pod (uid " + pod.metadata.uid + ")",
                  wrong_owner_words(*found->second, pod));
  chain.claims.push_back(found->second);
  chain.entries.emplace_back();
  return broken_claim(state, *found->second, &pod);
}

std::vector<std::string> requests_of(const api::ResourceClaim& claim) {
  std::vector<std::string> names;
  for (const api::DeviceRequest& request : claim.spec.requests) names.push_back(request.name);
  return names;
}

// Kubelet gives a container the devices of the request that it names, and none, without an error, if the claim has no
// such request (claiminfo.go, cdiDevicesAsList). The API server cannot refuse it: the two are different objects.
std::optional<BrokenLink> missing_request(const Chain& chain, const api::Container& container) {
  for (const api::ContainerClaim& use : container.claims) {
    const auto entry = std::find(chain.entries.begin(), chain.entries.end(), use.name);
    if (use.request.empty() || entry == chain.entries.end()) continue;
    const api::ResourceClaim& claim = *chain.claims[static_cast<size_t>(entry - chain.entries.begin())];
    const std::vector<std::string> known = requests_of(claim);
    if (std::find(known.begin(), known.end(), use.request) != known.end()) continue;
    BrokenLink link =
        broken(Break::kRequestMissing, "container -> request",
               "container " + container.name + " asks for request " + quote(use.request) + " of " + claim_text(claim) +
                   ", which has " + (known.empty() ? "no request" : "only " + join(known, ", ")) +
                   ": the container gets no device, without an error",
               "name one of them in the pod's containers[].resources.claims[].request, or leave it out "
               "for all devices of the claim, and make the pod anew");
    link.entry = use.name;
    return link;
  }
  return std::nullopt;
}

}  // namespace

std::string_view break_name(Break kind) {
  switch (kind) {
    case Break::kTemplateMissing:
      return "TemplateMissing";
    case Break::kClaimNotMade:
      return "ClaimNotMade";
    case Break::kClaimMissing:
      return "ClaimMissing";
    case Break::kWrongOwner:
      return "WrongOwner";
    case Break::kClaimStuck:
      return "ClaimStuck";
    case Break::kNotAllocated:
      return "NotAllocated";
    case Break::kAllocatedElsewhere:
      return "AllocatedElsewhere";
    case Break::kNotReserved:
      return "NotReserved";
    case Break::kWrongReservation:
      return "WrongReservation";
    case Break::kDriverAbsent:
      return "DriverAbsent";
    case Break::kDeviceGone:
      return "DeviceGone";
    case Break::kPoolUnusable:
      return "PoolUnusable";
    case Break::kDeviceTainted:
      return "DeviceTainted";
    case Break::kPrepareFailing:
      return "PrepareFailing";
    case Break::kRequestMissing:
      return "RequestMissing";
    case Break::kUnhealthy:
      return "Unhealthy";
    case Break::kQuotaRefuses:
      return "QuotaRefuses";
    case Break::kNodeNotReady:
      return "NodeNotReady";
  }
  return "Unknown";
}

std::optional<BrokenLink> broken_claim(const State& state, const api::ResourceClaim& claim, const api::Pod* pod) {
  const Objects& objects = state.objects;
  if (claim.metadata.deleting() && claim.metadata.has_finalizer(api::kDeleteProtectionFinalizer) &&
      !objects.hides("pods") && !protocol::is_only_kept(claim)) {
    const bool used =
        std::any_of(claim.status.reserved_for.begin(), claim.status.reserved_for.end(), [&](const auto& consumer) {
          if (protocol::is_keep_reference(consumer)) return false;
          const auto known = objects.pods.find(claim.metadata.ns + "/" + consumer.name);
          return !protocol::is_pod_reference(consumer) ||
                 (known != objects.pods.end() && known->second->metadata.uid == consumer.uid &&
                  !known->second->terminal());
        });
    if (!used) return stuck_claim(claim);
  }
  if (!claim.status.allocation) {
    if (pod != nullptr && pod->node_name.empty()) return std::nullopt;  // it waits: not broken
    return broken(
        Break::kNotAllocated, "claim -> allocation", claim_text(claim) + " is not allocated",
        "its pod was bound without it; " + (pod == nullptr ? std::string("kubectl dra explain on the pod says more")
                                                           : with_another_pod(pod, "its devices before it is bound")));
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
                    with_another_pod(pod, "a node where the devices are"));
    if (auto unreserved = broken_reservation(claim, *pod)) return unreserved;
  }
  if (pod != nullptr && pod->terminal()) return std::nullopt;
  if (!objects.hides("resourceslices"))
    for (const auto& result : claim.status.allocation->results)
      if (auto found = broken_device(state, claim, pod, result)) return found;
  return unready_device(state, claim, pod);
}

std::string words_of(const BrokenLink& link, Timestamp now) {
  if (!link.since.empty()) return link.text + ", for " + age_text(link.since, now);
  // An object that does not exist has no time.
  const bool timeless = link.kind == Break::kTemplateMissing || link.kind == Break::kClaimNotMade ||
                        link.kind == Break::kClaimMissing || link.kind == Break::kWrongOwner ||
                        link.kind == Break::kRequestMissing || link.kind == Break::kQuotaRefuses;
  return timeless ? link.text : link.text + " (since when is not recorded)";
}

bool is_entry_of_group(const Objects& objects, const api::Pod& pod, const api::PodResourceClaim& entry) {
  const auto groups = objects.pod_groups.find(reconcile::GroupApi::kCore);
  if (pod.pod_group_name.empty() || groups == objects.pod_groups.end()) return false;
  const auto group = groups->second.find(pod.metadata.ns + "/" + pod.pod_group_name);
  if (group == groups->second.end()) return false;
  const auto& entries = group->second->resource_claims;
  return std::find(entries.begin(), entries.end(), entry) != entries.end();
}

bool may_be_withdrawn(Break kind) {
  return kind == Break::kDriverAbsent || kind == Break::kDeviceGone || kind == Break::kPoolUnusable;
}

bool is_harmless(Break kind, const api::Pod& pod) {
  return pod.phase == "Running" && may_be_withdrawn(kind);
}

bool all_run(const Objects& objects, const api::ResourceClaim& claim) {
  const auto& reserved = claim.status.reserved_for;
  return protocol::has_users(claim) && std::all_of(reserved.begin(), reserved.end(), [&](const auto& consumer) {
           if (protocol::is_keep_reference(consumer)) return true;
           const auto pod = objects.pods.find(claim.metadata.ns + "/" + consumer.name);
           return protocol::is_pod_reference(consumer) && pod != objects.pods.end() &&
                  pod->second->metadata.uid == consumer.uid && pod->second->phase == "Running";
         });
}

std::string made_again_by(const api::Pod& pod) {
  const api::OwnerReference* owner = pod.metadata.controller();
  static const std::vector<std::string_view> kMakers{"ReplicaSet", "ReplicationController", "StatefulSet", "DaemonSet",
                                                     "Job"};
  if (owner == nullptr || std::find(kMakers.begin(), kMakers.end(), owner->kind) == kMakers.end()) return "";
  return owner->kind + " " + owner->name + " makes another one" +
         (owner->kind == "Job" ? " and may count this one as failed" : "");
}

Chain chain_of(const State& state, const api::Pod& pod) {
  Chain chain;
  for (const api::PodResourceClaim& entry : pod.resource_claims)
    if (auto found = broken_entry(state, pod, entry, chain)) {
      found->entry = entry.name;
      (is_harmless(found->kind, pod) ? chain.notes : chain.broken).push_back(std::move(*found));
    }
  if (auto found = broken_extended(state, pod, chain))
    (is_harmless(found->kind, pod) ? chain.notes : chain.broken).push_back(std::move(*found));
  for (const auto* containers : {&pod.init_containers, &pod.containers})
    for (const api::Container& container : *containers)
      if (auto found = missing_request(chain, container)) chain.broken.push_back(std::move(*found));
  // A pod that has ended needs no claim any more: its claims are freed, and those of its own are deleted.
  if (pod.terminal())
    std::erase_if(chain.broken, [](const BrokenLink& link) {
      return link.kind != Break::kClaimStuck && link.kind != Break::kRequestMissing;
    });
  if (chain.broken.empty() && !pod.resource_claims.empty() && pod.phase == "Pending")
    if (auto found = silent_node(state.objects, pod)) chain.broken.push_back(std::move(*found));
  // The devices are as they should be, and yet kubelet has not begun.
  if (chain.broken.empty() && !pod.resource_claims.empty() && !pod.node_name.empty() && pod.phase == "Pending")
    for (const api::Condition& condition : pod.conditions)
      if (condition.type == "PodReadyToStartContainers" && condition.status == "False") {
        chain.broken.push_back(broken(
            Break::kPrepareFailing, "node -> driver", "kubelet on " + pod.node_name + " has not prepared the pod",
            "kubectl describe pod -n " + pod.metadata.ns + " " + pod.metadata.name + " shows kubelet's events"));
        chain.broken.back().since = condition.last_transition_time;
      }
  return chain;
}

}  // namespace dra::inspect
