// P1: chooses devices, and with them the node.
#include "controllers/allocation/pod/pod_reconcile.h"

#include <algorithm>

#include "controllers/allocation/bind/bind_conditions.h"
#include "controllers/allocation/group/same_choice.h"
#include "pkg/api/claim_bounds.h"
#include "pkg/base/timestamp.h"
#include "pkg/protocol/extended_claim.h"
#include "pkg/protocol/pod_claims.h"
#include "pkg/protocol/proof.h"
#include "pkg/protocol/users.h"
#include "pkg/protocol/writes.h"

namespace dra::allocation {

using namespace reconcile;

std::string devices_of(const std::vector<api::AllocationResult>& allocations) {
  constexpr size_t kShown = 8;
  std::string text;
  size_t devices = 0;
  for (const api::AllocationResult& allocation : allocations)
    for (const api::DeviceRequestAllocationResult& device : allocation.results)
      if (++devices <= kShown)
        text += (text.empty() ? "" : ", ") + device.driver + "/" + device.pool + "/" + device.device;
  return devices > kShown ? text + " and " + std::to_string(devices - kShown) + " more" : text;
}

void PodReconcile::allocate() {
  // Takes no more devices beside a sibling that cannot be used.
  if (const Conflicts conflicts = conflicts_of_allocated(); !conflicts.empty()) return withdraw_for(conflicts);
  // Before choosing nodes, which takes time as well.
  if (const Duration wait = allocator_.must_wait(pod_.metadata.ns); wait > Duration::zero()) {
    allocator::FoundNodes later;
    later.ask_again = wait;
    return unfinished(later);
  }
  const NodeChoice choice = candidate_nodes();
  if (waits_for_watch(choice)) return;
  if (choice.nodes.empty()) return withdraw_all() ? void() : no_node(choice);
  allocator::Request request;
  request.weigh_alternatives = true;
  request.facts = choice.facts;
  request.cpu_milli = choice.cpu_milli;
  for (const ClaimState& claim : state_.claims)
    if (!claim.allocated()) request.claims.push_back(claim.claim);
  request.preferences = preferences();
  const std::vector<allocator::NodeId> order = numbers_of(choice, inventory_);
  const DevicesHeldBack held_back(inventory_, avoided_devices(pod_, view_.now()));
  const KeptFromDecision kept(inventory_, leave_kept_devices(pod_.priority).devices);
  if (role_ == Role::kGated || role_ == Role::kToBind) {
    const Neighbours near = neighbours_of(view_, pod_, options_);
    if (!near.wish.ignored.empty()) complain("TopologyIgnored", near.wish.ignored, near.wish.ignored);
    if (near.any() && allocate_near(near, request)) return;
  }
  const allocator::FoundNodes found = allocator_.find_nodes(request, order, 1);
  if (!found.class_of_unknown_strategy.empty()) warn_of_strategy(found.class_of_unknown_strategy);
  switch (found.outcome) {
    case allocator::Outcome::kFeasible:
      if (role_ != Role::kExplain) write_decision(request, found.decisions.front());
      return;
    case allocator::Outcome::kInfeasible:
      // A sibling allocated before may be in the way: it is freed first.
      return withdraw_all() ? void() : no_devices(request, order, found);
    case allocator::Outcome::kBudgetSpent:
      // Even the largest budget does not decide it on these nodes; on others it may be easy.
      if (found.budget >= allocator_.options().max_step_budget && withdraw_all()) return;
      return undecided(found);
    case allocator::Outcome::kUnfinished:
      return unfinished(found);
    case allocator::Outcome::kError:
      return withdraw_all() ? void() : unusable(request, order, found);
  }
}

void PodReconcile::warn_of_strategy(const std::string& device_class) {
  const api::DeviceClass* known = view_.device_class(device_class);
  if (known == nullptr) return;
  const auto text = known->metadata.annotations.find(std::string(allocator::kStrategyAnnotation));
  if (text == known->metadata.annotations.end()) return;
  complain_of(ref_of(Kind::kClass, known->metadata), "UnknownStrategy",
              "annotation " + std::string(allocator::kStrategyAnnotation) + ": " + quote(text->second) +
                  " is not a strategy and is ignored; use first-fit, best-fit, pack or spread",
              text->second);
}

std::vector<allocator::Preference> PodReconcile::preferences() {
  const auto bears_some = [](const ClaimState& claim) {
    return claim.claim->metadata.annotations.contains(std::string(allocator::kPreferAnnotation));
  };
  if (std::none_of(state_.claims.begin(), state_.claims.end(), bears_some)) return {};
  std::vector<std::shared_ptr<const api::ResourceClaim>> claims;
  for (const ClaimState& claim : state_.claims) claims.push_back(claim.claim);
  allocator::Preferences found = allocator::preferences_of(claims);
  std::set<std::string> said;  // one event per claim
  for (const auto& [claim, why] : found.ignored)
    if (said.insert(claim->metadata.uid).second)
      complain_of(ref_of(Kind::kClaim, claim->metadata), "PreferenceIgnored",
                  "annotation " + std::string(allocator::kPreferAnnotation) + ": " + why, why);
  return std::move(found.of);
}

namespace {

std::string unread_selector(const api::ResourceClaim& claim, size_t bytes) {
  return "claim \"" + claim.metadata.key() + "\": status.allocation.nodeSelector takes " + std::to_string(bytes >> 10) +
         " KiB, and at most " + std::to_string(api::kMaxAllocationSelectorBytes >> 10) +
         " KiB are checked, so no node is known to reach its devices: whoever allocated it has to name their nodes "
         "by "
         "fewer labels, or take it back";
}

}  // namespace

NodeChoice PodReconcile::candidate_nodes() {
  if (role_ == Role::kBoundBare) return {{pod_.node_name}, "", false};
  std::vector<std::string> only;
  bool restricted = false;
  for (const ClaimState& claim : state_.claims) {
    if (!claim.allocated() || !claim.claim->status.allocation->node_selector) continue;
    const api::NodeSelector& selector = *claim.claim->status.allocation->node_selector;
    if (const size_t bytes = claim.claim->status.allocation->selector_bytes_dropped; bytes > 0)
      return {{}, unread_selector(*claim.claim, bytes), false};
    if (!restricted) {
      const std::vector<std::string>* named = api::named_nodes(selector);
      only = named ? *named : nodes_.all_nodes();
    }
    restricted = true;
    only.erase(std::remove_if(only.begin(), only.end(),
                              [&](const std::string& node) { return !nodes_.matches(selector, node); }),
               only.end());
  }
  if (restricted && only.empty())
    return {{}, "no node satisfies the node selectors of the allocated claims of this pod", false};
  if (restricted && only.size() == 1) return choose_node(only.front());
  NodeChoice choice = choose_among(std::move(only), restricted);
  // A pod that has devices already stays where it is.
  if (!restricted) leave_kept(choice);
  if (state_.all_allocated()) keep_at_home(choice);
  return choice;
}

NodeChoice PodReconcile::choose_node(const std::string& node) {
  if (same_choice_ == nullptr || !extended_.empty()) return choose_among({node}, true);
  if (const NodeChoice* known = same_choice_->find(nodes_, pod_, node)) {
    waits_for_pods_ = known->depends_on_pods;
    waits_for_capacity_ = known->depends_on_capacity;
    return *known;
  }
  NodeChoice choice = choose_among({node}, true);
  same_choice_->note(nodes_, pod_, node, choice);
  return choice;
}

NodeChoice PodReconcile::choose_among(std::vector<std::string> only, bool restricted) {
  NodeChoice choice;
  if (claimed_ && role_ == Role::kToBind)
    choice = choose_for_extended(restricted ? std::move(only) : nodes_.all_nodes());
  else
    choice = serves_by_claim() ? nodes_.choose(without_resources(pod_, extended_), only) : nodes_.choose(pod_, only);
  keep_advertising(choice);
  waits_for_pods_ = choice.depends_on_pods;
  waits_for_capacity_ = choice.depends_on_capacity;
  return choice;
}

void PodReconcile::write_decision(const allocator::Request& request, const allocator::Decision& decision) {
  const std::string node = inventory_.node_name(decision.node);
  outcome_.decided = Decided{true, node, devices_of(decision.results), decision.reason};
  why_here_.note(pod_.metadata.uid, decision.reason);
  for (size_t i = 0; i < request.claims.size(); ++i) {
    std::vector<api::ResourceClaimConsumerReference> consumers;
    if (is_reserved_at_once(*request.claims[i])) consumers.push_back(pod_reference(pod_));
    outcome_.add(allocation_write(request.claims[i], decision.results.at(i), std::move(consumers), node));
  }
}

bool PodReconcile::is_reserved_at_once(const api::ResourceClaim& claim) const {
  return role_ != Role::kBoundBare && (role_ != Role::kToBind || !has_left(claim, pod_.metadata.uid));
}

Write PodReconcile::allocation_write(const std::shared_ptr<const api::ResourceClaim>& claim,
                                     api::AllocationResult allocation,
                                     std::vector<api::ResourceClaimConsumerReference> consumers,
                                     const std::string& node) const {
  // A mark of an earlier allocation of the claim may be left. It must not prove the new one, which may have the same
  // devices within the same second. The precondition on the version makes sure that there is no other mark.
  WallTime now = view_.now();
  do {
    allocation.allocation_timestamp = format_rfc3339(now);
    now += std::chrono::seconds(1);
  } while (bears_mark_of(*claim, allocation));
  Write write = write_allocation_later(claim, std::move(allocation), std::move(consumers), "allocate");
  write.assume_pod = AssumedPod{ref_of(pod_), node};
  Timestamp created;
  if (parse_rfc3339(claim->metadata.creation_timestamp, created)) {
    const double seconds = std::chrono::duration<double>(view_.now() - created).count();
    write.on_success.push_back(
        {Metric::Type::kHistogram, "dra_claim_allocation_duration_seconds", {}, std::max(0.0, seconds)});
  }
  return write;
}

}  // namespace dra::allocation
