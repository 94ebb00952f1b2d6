#include "controllers/allocation/pod/bind_extended.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "controllers/allocation/pod/candidates.h"
#include "controllers/allocation/pod/decide.h"
#include "controllers/allocation/pod/kept_from.h"
#include "controllers/allocation/pod/not_found.h"
#include "controllers/allocation/pod/pairs.h"
#include "controllers/allocation/pod/prepare.h"
#include "controllers/allocation/pod/report.h"
#include "controllers/allocation/pod/withdraw.h"
#include "pkg/protocol/avoided.h"
#include "pkg/protocol/extended_claim.h"
#include "pkg/protocol/pod_claims.h"
#include "pkg/protocol/proof.h"
#include "pkg/protocol/writes.h"

namespace dra::allocation {

using namespace protocol;
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

// Handles an unusable claim with the reserved name: deletes it if unallocated, withdraws our unproven allocation, or
// else reports it. False: there is none.
bool clear_extended_name(const PodContext& context, ReconcileResult& out) {
  const api::Pod& pod = context.pod;
  const auto claim = context.view.shared_claim(pod.metadata.ns + "/" + extended_claim_name(pod));
  if (!claim) return false;
  if (claim->metadata.deleting()) return true;  // its deletion requeues the pod
  const std::string which = "claim \"" + claim->metadata.key() + "\" ";
  if (!is_extended_claim_of(pod, *claim)) {
    say_waiting(
        context,
        {kExtendedResource,
         which + "has the name of the claim for this pod's extended resources and is not the pod's; delete it", "name"},
        Fit::kUndecided, out);
    out.requeue_in(std::chrono::seconds(60));
    return true;
  }
  if (!claim->status.allocation && claim->status.reserved_for.empty()) {
    out.add(write_delete(Kind::kClaim, claim->metadata, "delete-extended-claim"));
  } else if (is_allocated_by_us(*claim) && !is_proven(*claim)) {
    out.add(write_deallocation(*claim, "withdraw"));
  } else {
    say_waiting(context,
                {kExtendedResource,
                 which + "is allocated and does not ask for what this pod does (its classes changed?); delete the pod",
                 "stale"},
                Fit::kUndecided, out);
    out.requeue_in(std::chrono::seconds(60));
  }
  return true;
}

void create_extended(const PodContext& context, const std::vector<ExtendedResource>& claimed, ReconcileResult& out) {
  const api::Pod& pod = context.pod;
  Write write = write_extended_claim(pod, plan_extended(pod, claimed).requests, context.view.dra_api_version());
  write.failure_event = Event{ref_of(pod),
                              true,
                              "FailedResourceClaimCreation",
                              "Allocate",
                              "the claim for " + names_of(claimed) + " cannot be created",
                              "extended"};
  out.add(std::move(write));
}

// What is to be claimed on the nodes, by the names of the resources: few claimed come first.
using ClaimedByNames = std::map<std::vector<std::string>, std::vector<ExtendedResource>>;

ClaimedByNames groups_of_nodes(const PodContext& context) {
  ClaimedByNames groups;
  for (const std::string& name : context.tools.nodes.all_nodes()) {
    const api::Node* node = context.view.node(name);
    if (!node) continue;
    std::vector<ExtendedResource> claimed = to_claim_on(*node, context.extended);
    std::vector<std::string> names;
    for (const ExtendedResource& resource : claimed) names.push_back(resource.name);
    if (groups.size() < kMaxGroups || groups.contains(names)) groups.emplace(std::move(names), std::move(claimed));
  }
  return groups;
}

// The search on one group of nodes. `context` supposes what is claimed there.
struct ExtendedSearch {
  allocator::Request request;
  std::vector<allocator::NodeId> order;
  allocator::FoundNodes found;
  std::string kept_devices;
};

ExtendedSearch search_beside_plugins(const PodContext& context, const nodes::NodeChoice& choice,
                                     const std::vector<allocator::PairRule>& pairs, ReconcileResult& out) {
  const Tools& tools = context.tools;
  ExtendedSearch search;
  allocator::Request& request = search.request;
  request.weigh_alternatives = true;
  for (const protocol::ClaimState& claim : context.state.claims)
    if (!claim.allocated()) request.claims.push_back(claim.claim);
  if (!context.claimed->empty()) request.claims.push_back(supposed_claim(context.pod, *context.claimed));
  search.order = numbers_of(choice, tools.inventory);
  request.facts = choice.facts;
  request.preferences = preferences_of_claims(context, out);
  request.pairs = pairs;
  request.cpu_milli = choice.cpu_milli;
  const DevicesHeldBack held_back(tools.inventory, avoided_devices(context.view, context.pod));
  const KeptDevices::Kept kept = kept_devices_of(context, context.pod.priority);
  const KeptFromDecision kept_from(tools.inventory, kept);
  search.kept_devices = kept_devices_clause(kept);
  search.found = tools.allocator.find_nodes(request, search.order, 1);
  return search;
}

}  // namespace

ExtendedAnswer serve_by_claim(const PodContext& context, ReconcileResult& out) {
  if (context.state.extended) return {true};
  if (clear_extended_name(context, out)) return {false};
  const std::optional<std::vector<allocator::PairRule>> pairs = pairs_asked(context, context.state.claims, out);
  if (!pairs) return {false};
  struct Refuted {
    ExtendedSearch search;
    const std::vector<ExtendedResource>* claimed;
  };
  std::optional<Refuted> refuted;
  Candidates none;
  none.choice.why_none = "there are no nodes";
  const ClaimedByNames groups = groups_of_nodes(context);
  for (const auto& [names, claimed] : groups) {
    PodContext supposing = context;
    supposing.claimed = &claimed;
    Candidates candidates = candidate_nodes(supposing, out);
    if (waits_for_watch(candidates.choice, out)) return {false};
    if (candidates.choice.nodes.empty()) {
      none = std::move(candidates);
      continue;
    }
    if (claimed.empty() && context.state.all_allocated()) return {true, std::move(candidates.obstacles)};
    ExtendedSearch search = search_beside_plugins(supposing, candidates.choice, *pairs, out);
    switch (search.found.outcome) {
      case allocator::Outcome::kFeasible:
        if (claimed.empty()) return {true, std::move(candidates.obstacles)};
        return create_extended(context, claimed, out), ExtendedAnswer{false};
      case allocator::Outcome::kBudgetSpent:
        return report_undecided(context, search.found, out), ExtendedAnswer{false};
      case allocator::Outcome::kUnfinished:
        return go_on_later(context, search.found, out), ExtendedAnswer{false};
      case allocator::Outcome::kInfeasible:
      case allocator::Outcome::kError:
        refuted = Refuted{std::move(search), &claimed};
    }
  }
  if (withdraw_or_leave(context, out)) return {false};
  if (!refuted) return report_no_node(context, none, out), ExtendedAnswer{false};
  // Chooses the nodes of this group again: another group may have been tried since.
  PodContext supposing = context;
  supposing.claimed = refuted->claimed;
  const Candidates candidates = candidate_nodes(supposing, out);
  const ExtendedSearch& search = refuted->search;
  report_no_devices(supposing,
                    {search.request, numbers_of(candidates.choice, context.tools.inventory), search.found,
                     candidates.obstacles, search.kept_devices, "for " + names_of(context.extended) + ": "},
                    out);
  return {false};
}

bool publish_extended(const PodContext& context, ReconcileResult& out) {
  const api::Pod& pod = context.pod;
  if (!context.state.extended) return true;
  api::PodExtendedResourceClaimStatus wanted;
  wanted.resource_claim_name = context.state.extended->metadata.name;
  wanted.request_mappings = plan_extended(pod, claimed_by(pod, context.extended, *context.state.extended)).mappings;
  if (pod.extended_resource_claim_status && same_status(*pod.extended_resource_claim_status, wanted)) return true;
  const std::string tally = pod.metadata.uid + "/extended";
  if (context.view.tallied(tally) >= kMaxLostStatuses) {
    say_waiting(context,
                {kExtendedResource,
                 "the API server does not keep status.extendedResourceClaimStatus of this pod: kubelet cannot find the "
                 "devices. Switch the feature gate DRAExtendedResource on in kube-apiserver",
                 "status"},
                Fit::kUndecided, out);
    out.requeue_in(std::chrono::seconds(60));
    return false;
  }
  Write write = write_extended_status(pod, wanted);
  write.tally.push_back(tally);
  out.add(std::move(write));
  return false;
}

}  // namespace dra::allocation
