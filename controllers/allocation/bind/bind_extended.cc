// Extended resources of a DeviceClass in bind mode: the claim that serves them is made once devices and a node are
// found for it, then allocated and proven like any other and published in the pod's status; only then is the pod bound.
//
// Which resources a claim serves depends on the node, because the device plugins there serve what they advertise. So
// nodes are tried in groups that leave the same resources to devices. A claim that no longer fits is deleted and the
// groups are tried again: a waiting pod has no such claim, and none counts against a quota.
#include <algorithm>
#include <map>

#include "controllers/allocation/bind/bind_conditions.h"
#include "controllers/allocation/causes.h"
#include "controllers/allocation/pod/pod_reconcile.h"
#include "pkg/protocol/extended_claim.h"
#include "pkg/protocol/pod_claims.h"
#include "pkg/protocol/proof.h"
#include "pkg/protocol/writes.h"

namespace dra::allocation {

using namespace reconcile;

namespace {

constexpr const char* kExtendedResource = "ExtendedResource";
// The nodes differ in few of a pod's resources; groups beyond this number are left out.
constexpr size_t kMaxGroups = 16;
// After this many writes of the pod's status without effect, the API server is taken not to keep the field.
constexpr uint64_t kMaxLostStatuses = 3;

std::string names_of(const std::vector<ExtendedResource>& resources) {
  std::string text;
  for (const ExtendedResource& resource : resources)
    text += (text.empty() ? "\"" : ", \"") + resource.name + "\" (DeviceClass \"" + resource.device_class + "\")";
  return text;
}

// The claim as it will be made. No server gives out its uid.
std::shared_ptr<const api::ResourceClaim> supposed_claim(const api::Pod& pod,
                                                         const std::vector<ExtendedResource>& claimed) {
  auto claim = std::make_shared<api::ResourceClaim>();
  claim->metadata.ns = pod.metadata.ns;
  claim->metadata.name = extended_claim_name(pod);
  claim->metadata.uid = pod.metadata.uid + "/extended";
  claim->metadata.owner_references.push_back({"v1", "Pod", pod.metadata.name, pod.metadata.uid, true});
  claim->spec.requests = plan_extended(pod, claimed).requests;
  return claim;
}

}  // namespace

bool PodReconcile::serves_by_claim() const {
  const auto& names = options_.scheduler_names;
  return !extended_.empty() && options_.mode == Mode::kBind && (role_ == Role::kToBind || role_ == Role::kGated) &&
         !releasing() && std::find(names.begin(), names.end(), pod_.scheduler_name) != names.end();
}

std::vector<std::string> PodReconcile::nodes_that_leave(const std::vector<ExtendedResource>& claimed,
                                                        const std::vector<std::string>& among) const {
  std::vector<std::string> fitting;
  for (const std::string& name : among)
    if (const api::Node* node = view_.node(name); node && to_claim_on(*node, extended_) == claimed)
      fitting.push_back(name);
  return fitting;
}

NodeChoice PodReconcile::choose_for_extended(std::vector<std::string> among) {
  among = nodes_that_leave(*claimed_, among);
  if (among.empty())
    return {{}, "no node leaves the extended resources of this pod to the devices of its claim", false};
  return nodes_.choose(without_resources(pod_, *claimed_), among);
}

// Handles an unusable claim with the reserved name: deletes it if unallocated, withdraws our unproven allocation, or
// else reports it.
bool PodReconcile::clear_extended_name() {
  const auto claim = view_.shared_claim(pod_.metadata.ns + "/" + extended_claim_name(pod_));
  if (!claim) return false;
  if (claim->metadata.deleting()) return true;  // its deletion requeues the pod
  if (!is_extended_claim_of(pod_, *claim)) {
    waits(kExtendedResource,
          "claim \"" + claim->metadata.key() +
              "\" has the name of the claim for this pod's extended resources and is not the pod's; delete it",
          "name");
    outcome_.requeue_in(std::chrono::seconds(60));
    return true;
  }
  if (!claim->status.allocation && claim->status.reserved_for.empty()) {
    outcome_.add(write_delete(Kind::kClaim, claim->metadata, "delete-extended-claim"));
  } else if (is_allocated_by_us(*claim) && !is_proven(*claim)) {
    outcome_.add(write_deallocation(*claim, "withdraw"));
  } else {
    waits(kExtendedResource,
          "claim \"" + claim->metadata.key() +
              "\" is allocated and does not ask for what this pod does (its classes changed?); delete the pod",
          "stale");
    outcome_.requeue_in(std::chrono::seconds(60));
  }
  return true;
}

bool PodReconcile::drop_extended() {
  if (!extended_claim_ || extended_claim_->status.allocation || !extended_claim_->status.reserved_for.empty())
    return false;
  outcome_.add(write_delete(Kind::kClaim, extended_claim_->metadata, "delete-extended-claim"));
  return true;
}

bool PodReconcile::make_extended() {
  if (extended_claim_) return true;
  if (clear_extended_name()) return false;
  std::map<std::vector<std::string>, std::vector<ExtendedResource>> groups;  // by names: few claimed come first
  for (const std::string& name : nodes_.all_nodes()) {
    const api::Node* node = view_.node(name);
    if (!node) continue;
    std::vector<ExtendedResource> claimed = to_claim_on(*node, extended_);
    std::vector<std::string> names;
    for (const ExtendedResource& resource : claimed) names.push_back(resource.name);
    if (groups.size() < kMaxGroups || groups.contains(names)) groups.emplace(std::move(names), std::move(claimed));
  }
  struct Refuted {
    allocator::Request request;
    allocator::FoundNodes found;
    std::vector<ExtendedResource> claimed;
  };
  std::optional<Refuted> refuted;
  NodeChoice none;
  none.why_none = "there are no nodes";
  for (const auto& [names, claimed] : groups) {
    claimed_ = claimed;
    NodeChoice choice = candidate_nodes();
    if (waits_for_watch(choice)) return false;
    if (choice.nodes.empty()) {
      none = std::move(choice);
      continue;
    }
    if (claimed.empty() && state_.all_allocated()) return true;
    allocator::Request request;
    request.weigh_alternatives = true;
    for (const ClaimState& claim : state_.claims)
      if (!claim.allocated()) request.claims.push_back(claim.claim);
    if (!claimed.empty()) request.claims.push_back(supposed_claim(pod_, claimed));
    const std::vector<allocator::NodeId> order = numbers_of(choice, inventory_);
    request.facts = choice.facts;
    request.preferences = preferences();
    request.cpu_milli = choice.cpu_milli;
    const DevicesHeldBack held_back(inventory_, avoided_devices(pod_, view_.now()));
    const KeptFromDecision kept(inventory_, leave_kept_devices(pod_.priority).devices);
    const allocator::FoundNodes found = allocator_.find_nodes(request, order, 1);
    switch (found.outcome) {
      case allocator::Outcome::kFeasible:
        if (claimed.empty()) return true;
        return create_extended(claimed), false;
      case allocator::Outcome::kBudgetSpent:
        return undecided(found), false;
      case allocator::Outcome::kUnfinished:
        return unfinished(found), false;
      case allocator::Outcome::kInfeasible:
      case allocator::Outcome::kError:
        refuted = Refuted{std::move(request), found, claimed};
    }
  }
  if (withdraw_all()) return false;
  if (!refuted) return no_node(none), false;
  // Chooses the nodes of this group again: another group may have been tried since.
  claimed_ = refuted->claimed;
  const NodeChoice choice = candidate_nodes();
  no_devices(refuted->request, numbers_of(choice, inventory_), refuted->found, "for " + names_of(extended_) + ": ");
  return false;
}

void PodReconcile::create_extended(const std::vector<ExtendedResource>& claimed) {
  Write write = write_extended_claim(pod_, plan_extended(pod_, claimed).requests, view_.dra_api_version());
  write.failure_event = Event{ref_of(pod_),
                              true,
                              "FailedResourceClaimCreation",
                              "Allocate",
                              "the claim for " + names_of(claimed) + " cannot be created",
                              "extended"};
  outcome_.add(std::move(write));
}

bool PodReconcile::publish_extended() {
  if (!extended_claim_) return true;
  api::PodExtendedResourceClaimStatus wanted;
  wanted.resource_claim_name = extended_claim_->metadata.name;
  wanted.request_mappings = plan_extended(pod_, claimed_by(pod_, extended_, *extended_claim_)).mappings;
  if (pod_.extended_resource_claim_status && same_status(*pod_.extended_resource_claim_status, wanted)) return true;
  const std::string tally = pod_.metadata.uid + "/extended";
  if (view_.tallied(tally) >= kMaxLostStatuses) {
    waits(kExtendedResource,
          "the API server does not keep status.extendedResourceClaimStatus of this pod: kubelet cannot find the "
          "devices. Switch the feature gate DRAExtendedResource on in kube-apiserver",
          "status");
    outcome_.requeue_in(std::chrono::seconds(60));
    return false;
  }
  Write write = write_extended_status(pod_, wanted);
  write.tally.push_back(tally);
  outcome_.add(std::move(write));
  return false;
}

}  // namespace dra::allocation
