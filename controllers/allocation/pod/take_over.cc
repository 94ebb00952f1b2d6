#include "controllers/allocation/pod/take_over.h"

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>

#include "controllers/allocation/kept/kept_claims.h"
#include "controllers/allocation/kept/set_aside.h"
#include "controllers/allocation/pod/allocation_writes.h"
#include "controllers/allocation/pod/report.h"
#include "pkg/api/selectors.h"
#include "pkg/protocol/avoided.h"
#include "pkg/protocol/keep.h"
#include "pkg/protocol/pod_claims.h"
#include "pkg/protocol/writes.h"

namespace dra::allocation {

using namespace protocol;
using namespace reconcile;

namespace {

using Claim = std::shared_ptr<const api::ResourceClaim>;

constexpr Duration kUntilFreed = std::chrono::seconds(1);
// An earlier pod is gone, and its claim does not say so yet: whoever runs the claim controller prunes within seconds.
constexpr Duration kPrunedWithin = std::chrono::seconds(10);

std::string name_in_pod(const api::ResourceClaim& claim) {
  const auto name = claim.metadata.annotations.find(api::kPodClaimNameAnnotation);
  return name == claim.metadata.annotations.end() ? "" : name->second;
}

// What an earlier pod has left.
struct Left {
  std::string pod;            // its name
  std::vector<Claim> claims;  // as Request::claims
  bool ready = true;          // no claim has a user
};

// Noted for another pod lately.
bool goes_to_another(const PodContext& context, const api::ResourceClaim& claim) {
  const auto noted = context.view.note(claim.metadata.uid, kTakenNote);
  return noted && noted->age < kTakenCounts && noted->text != taken_note(context.pod);
}

// Whole sets alone: one for each claim of the request. Those of a pod of the same name first, as a StatefulSet makes
// them, then those whose time ends first.
std::vector<Left> all_left(const PodContext& context, const allocator::Request& request) {
  const api::OwnerReference& controller = *context.pod.metadata.controller();
  std::map<std::string, Left> by_pod;  // by uid
  for (const Claim& claim : context.tools.kept_claims.of_owner(context.view, controller.uid)) {
    const api::OwnerReference* pod = pod_owner(*claim);
    if (claim->metadata.ns != context.pod.metadata.ns || pod == nullptr || pod->uid == context.pod.metadata.uid)
      continue;
    const api::Pod* known = known_pod_owner(context.view, *claim);
    if ((known != nullptr && !known->done()) || goes_to_another(context, *claim)) continue;
    for (size_t i = 0; i < request.claims.size(); ++i) {
      const api::ResourceClaim& wanted = *request.claims[i];
      if (name_in_pod(wanted) != name_in_pod(*claim) || !(wanted.spec == claim->spec)) continue;
      Left& left = by_pod[pod->uid];
      left.pod = pod->name;
      left.claims.resize(request.claims.size());
      left.claims[i] = claim;
      left.ready = left.ready && is_only_kept(*claim);
    }
  }
  std::vector<Left> all;
  for (auto& [uid, left] : by_pod)
    if (std::all_of(left.claims.begin(), left.claims.end(), [](const Claim& claim) { return claim != nullptr; }))
      all.push_back(std::move(left));
  const auto rank = [&](const Left& left) {
    const std::optional<Keep> keep = keep_of(*left.claims.front());
    return std::tuple(left.pod != context.pod.metadata.name, keep && keep->until ? keep->until->seconds() : 0);
  };
  std::stable_sort(all.begin(), all.end(), [&](const Left& a, const Left& b) { return rank(a) < rank(b); });
  return all;
}

// A taint keeps new pods from the device. The claim is free by then: lifecycle, which ends what is kept for a taint,
// looks no more.
bool refuses(const PodContext& context, const api::DeviceRequestAllocationResult& result) {
  const inventory::Inventory& inventory = context.tools.inventory;
  if (!inventory.features().device_taints) return false;
  const std::vector<std::string>& ignored = context.tools.allocator.options().ignored_taints;
  const std::vector<api::DeviceTaint> taints = inventory.taints({result.driver, result.pool, result.device});
  return std::any_of(taints.begin(), taints.end(), [&](const api::DeviceTaint& taint) {
    return api::keeps_new_pods_away(taint, result.tolerations, ignored);
  });
}

// The node on which all of them can be used now, if the pod may go there; the pod avoids none of them, and none has a
// taint. A device that is shared has a number of its own in each allocation: the search gives such shares anew.
std::optional<allocator::NodeId> usable_on(const PodContext& context, const std::vector<api::AllocationResult>& devices,
                                           const std::vector<allocator::NodeId>& order) {
  const inventory::Inventory& inventory = context.tools.inventory;
  std::optional<allocator::NodeId> node;
  const std::vector<AvoidedDevice> avoided = avoided_devices(context.view, context.pod);
  for (const api::AllocationResult& allocation : devices) {
    const std::string* name = api::only_node(allocation);
    if (name == nullptr || allocation.results.empty()) return std::nullopt;
    const allocator::NodeId id = context.tools.inventory.node_id(*name);
    if (node && *node != id) return std::nullopt;
    node = id;
    for (const api::DeviceRequestAllocationResult& result : allocation.results) {
      const inventory::DeviceName device{result.driver, result.pool, result.device};
      if (result.share_id || !inventory.device_on(device, *name) || refuses(context, result)) return std::nullopt;
      if (std::any_of(avoided.begin(), avoided.end(), [&](const AvoidedDevice& one) { return one.name == device; }))
        return std::nullopt;
    }
  }
  return node && std::find(order.begin(), order.end(), *node) != order.end() ? node : std::nullopt;
}

// Nobody but `left` holds any of them.
bool are_free(const PodContext& context, const allocator::Request& request,
              const std::vector<api::AllocationResult>& devices, const std::vector<Claim>& left) {
  const SetAside aside(context.tools.inventory, left);
  return Supposed(context.tools.inventory, request.claims, devices).fits();
}

// They were handed over: given as soon as the earlier claims are gone.
bool go_on(const PodContext& context, const allocator::Request& request, const std::vector<allocator::NodeId>& order,
           const KeptClaims::ByName& handed, ReconcileResult& out) {
  std::vector<api::AllocationResult> devices;
  for (const auto& claim : request.claims) {
    const auto one = handed.find(name_in_pod(*claim));
    if (one != handed.end()) devices.push_back(one->second);
  }
  const auto node = devices.size() == request.claims.size() ? usable_on(context, devices, order) : std::nullopt;
  if (!node) {
    context.tools.kept_claims.forget(context.pod.metadata.uid);
    return false;
  }
  if (!are_free(context, request, devices, {})) {
    out.requeue_in(kUntilFreed);
    return true;
  }
  allocator::Decision decision;
  decision.outcome = allocator::Outcome::kFeasible;
  decision.node = *node;
  decision.results = std::move(devices);
  decision.reason = "takes over the devices that an earlier pod of its controller has left";
  write_decision(context, request, decision, out);
  return true;
}

// Each claim was made for the pod, and asks to keep.
bool all_ask(const PodContext& context, const allocator::Request& request) {
  return !request.claims.empty() && request.claims.size() == context.state.claims.size() &&
         std::all_of(request.claims.begin(), request.claims.end(), [&](const auto& claim) {
           return is_for_pod(context.pod, *claim) && keeps_for(*claim) && !name_in_pod(*claim).empty();
         });
}

bool is_young(const PodContext& context) {
  Timestamp created;
  return parse_rfc3339(context.pod.metadata.creation_timestamp, created) &&
         Timestamp(context.view.now()) - created < kPrunedWithin;
}

}  // namespace

bool take_over(const PodContext& context, const allocator::Request& request,
               const std::vector<allocator::NodeId>& order, ReconcileResult& out) {
  if (context.role != Role::kGated && context.role != Role::kToBind) return false;
  const api::OwnerReference* controller = context.pod.metadata.controller();
  if (controller == nullptr) return false;
  KeptClaims& kept = context.tools.kept_claims;
  if (const KeptClaims::ByName* handed = kept.handed_over(context.pod.metadata.uid, context.view.now()))
    return go_on(context, request, order, *handed, out);
  if (!kept.keeps_for_owner(controller->uid) || !all_ask(context, request)) return false;
  bool soon = false;
  for (const Left& left : all_left(context, request)) {
    std::vector<api::AllocationResult> devices;
    KeptClaims::ByName handed;
    for (const Claim& claim : left.claims) {
      devices.push_back(*claim->status.allocation);
      devices.back().allocation_timestamp.clear();
      handed.emplace(name_in_pod(*claim), devices.back());
    }
    const auto node = usable_on(context, devices, order);
    if (!node || !are_free(context, request, devices, left.claims)) continue;
    soon = soon || !left.ready;
    if (!left.ready || !kept.hand_over(context.pod, handed, context.view.now())) continue;
    for (const Claim& claim : left.claims)
      out.add(Note{claim->metadata.uid, std::string(kTakenNote), taken_note(context.pod)});
    emit_once(context.view, out,
              {ref_of(context.pod), false, "TakesKeptDevices", "Allocate",
               "takes over what pod " + left.pod + " of the same " + controller->kind + " has left on node " +
                   context.tools.inventory.node_name(*node) + ": " + devices_of(devices) +
                   "; a scheduler that allocates beside this manager could take them in between",
               ""});
    out.requeue_in(kUntilFreed);
    return true;
  }
  if (!soon || !is_young(context)) return false;
  out.requeue_in(kUntilFreed);
  return true;
}

}  // namespace dra::allocation
