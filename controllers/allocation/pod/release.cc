// P4: reserves the claims, then ungates or binds the pod.
#include "controllers/allocation/pod/pod_reconcile.h"

#include <algorithm>

#include "pkg/protocol/pod_claims.h"
#include "pkg/protocol/users.h"
#include "pkg/protocol/writes.h"

namespace dra::allocation {

using namespace reconcile;

namespace {
constexpr std::chrono::milliseconds kOverlapPause{250};
}

void PodReconcile::use() {
  if (const std::optional<NodeChoice> choice = ready_to_go(false)) lift_gate(*choice);
}

std::optional<NodeChoice> PodReconcile::ready_to_go(bool without_conflict) {
  // Observe mode writes nothing; for pods bound by others the lifecycle controller reserves.
  if (role_ == Role::kExplain || role_ == Role::kBoundBare || is_being_bound()) return {};
  // A foreign allocation may have come after the mark. No pod is bound with a device that somebody else holds.
  if (!releasing() && !without_conflict) {
    Conflicts conflicts = conflicts_of_allocated();
    const bool overlap = !conflicts.empty();
    if (const Conflicts lasting = those_that_stay(std::move(conflicts)); !lasting.empty())
      return withdraw_for(lasting), std::nullopt;
    // An unproven allocation of ours gives way to a proven one, so wait for that. Going at once would trust our mark,
    // which a tenant may have written: then the other's proof may be older, and its mark under way.
    if (overlap) return outcome_.requeue_in(kOverlapPause), std::nullopt;
  }
  NodeChoice choice;
  // Without claims the gate has nothing to wait for, and kube-scheduler finds the node.
  if (role_ == Role::kToBind || !state_.claims.empty()) {
    choice = candidate_nodes();
    if (waits_for_watch(choice)) return {};
    // A pod that cannot run where its claims are must not hold them: others may wait for the devices.
    if (choice.nodes.empty() && !releasing()) {
      if (!withdraw_all()) no_node(choice);
      return {};
    }
  }
  if (role_ == Role::kToBind && !prepared(choice)) return {};
  const bool reserving = reserve(choice);
  if (outcome_.has_writes() || enlist() || reserving) return {};
  if (state_.unpublished && !releasing()) {
    // Its publication enqueues the pod; while that is refused, the node may be lost.
    outcome_.requeue_in(std::chrono::seconds(5));
    return {};
  }
  if (role_ == Role::kToBind && !publish_extended()) return {};
  return choice;
}

bool PodReconcile::reserve(const NodeChoice& choice) {
  bool busy = false;
  for (const ClaimState& claim : state_.claims) {
    if (claim.reserved) {
      // kube-scheduler must see the reservation before it sees the pod ungated: otherwise it would write its own
      // reservation and fail. Its watches are about as old as ours.
      busy = busy || (role_ == Role::kGated && !releasing() && !claim.reserved_in_stream);
      continue;
    }
    std::vector<api::ResourceClaimConsumerReference> consumers = claim.claim->status.reserved_for;
    if (consumers.size() >= api::kMaxReservedFor) {
      complain("FailedAllocation",
               "claim \"" + claim.claim->metadata.key() + "\" has " + std::to_string(api::kMaxReservedFor) +
                   " consumers, which is the most a claim can have",
               "full");
      busy = busy || !releasing();
      continue;
    }
    busy = true;
    consumers.push_back(pod_reference(pod_));
    Write write = write_reservations(*claim.claim, consumers, "reserve");
    // From now on the pod counts on the node chosen for it.
    if (choice.nodes.size() == 1) write.assume_pod = AssumedPod{ref_of(pod_), std::string(choice.nodes.front())};
    outcome_.add(std::move(write));
  }
  return busy;
}

bool PodReconcile::enlist() {
  bool busy = false;
  for (const ClaimState& claim : state_.claims) {
    if (claim.listed || !claim.reserved) continue;
    busy = true;
    if (reconcile::enlist(view_, pod_, *claim.claim, outcome_) != Enlisting::kFull) continue;
    complain("FailedAllocation",
             "claim \"" + claim.claim->metadata.key() +
                 "\" has more pods than can be listed as its users; give some pods a claim of their own",
             "users");
    busy = !releasing();
  }
  return busy;
}

void PodReconcile::lift_gate(const NodeChoice& choice) {
  if (role_ == Role::kToBind) {
    const std::string node(choice.nodes.front());
    Write write = write_binding(pod_, node);
    write.success_event = Event{ref_of(pod_),
                                false,
                                "Scheduled",
                                "Binding",
                                "Successfully assigned " + pod_.metadata.key() + " to " + node,
                                ""};
    outcome_.add(std::move(write));
    // If the reconciles of other pods proved all of its claims, no event has said so yet.
    if (!state_.claims.empty() && !view_.last_event(pod_.metadata.uid, "Allocated")) outcome_.add(allocated_event());
    outcome_.min_interval = std::chrono::seconds(2);  // the answer does not contain the pod: the stream shows it bound
    return;
  }
  // A pin would only keep it from every other node if this one is lost before it is bound (P8).
  if (is_bound_by_us() && !releasing()) return lift_gate(api::NodeSelectorTerm{});
  api::NodeSelectorTerm term;
  for (const ClaimState& claim : state_.claims) {
    if (single_term(*claim.claim->status.allocation, term)) continue;
    // An OR of terms cannot be added to the pod's own terms: one node that they allow has to do.
    term = {};
    if (!choice.nodes.empty())
      term.match_fields.push_back({"metadata.name", "In", {std::string(choice.nodes.front())}});
    break;
  }
  narrow_to_advertising(term, choice);
  warn_of_binding_conditions();
  lift_gate(term);
}

// kube-scheduler waits for the conditions when it binds. If one fails, it takes the devices away and allocates again on
// the node to which the pod is pinned: a foreign allocation that nobody proves.
void PodReconcile::warn_of_binding_conditions() {
  for (const ClaimState& claim : state_.claims)
    for (const api::DeviceRequestAllocationResult& result : claim.claim->status.allocation->results) {
      if (result.binding_conditions.empty()) continue;
      const std::string note =
          "device " + result.driver + "/" + result.pool + "/" + result.device + " of claim \"" +
          claim.claim->metadata.key() +
          "\" has binding conditions: if one fails, kube-scheduler allocates again, unproven; such "
          "devices belong to bind mode";
      return complain("BindingConditions", note, claim.claim->metadata.uid);
    }
}

// "allocated gpu.example.com/n1/gpu-0".
std::string PodReconcile::devices_words() const {
  std::vector<api::AllocationResult> allocations;
  for (const ClaimState& claim : state_.claims)
    if (claim.allocated()) allocations.push_back(*claim.claim->status.allocation);
  const std::string devices = devices_of(allocations);
  return devices.empty() ? "allocated claims that ask for no device" : "allocated " + devices;
}

void PodReconcile::lift_gate(const api::NodeSelectorTerm& term) {
  Write write = write_ungated(pod_, kAllocationGate, term, is_bound_by_us());
  if (state_.claims.empty()) return void(outcome_.add(std::move(write)));
  std::string where = devices_words();
  if (term.match_fields.size() == 1 && term.match_fields.front().values.size() == 1)
    where += " on node " + term.match_fields.front().values.front();
  where += why_here_.clause(pod_.metadata.uid);
  write.success_event = Event{ref_of(pod_), false, "Allocated", "Allocate", where + "; the gate is lifted", ""};
  outcome_.add(std::move(write));
  show_allocated(where);
}

// Releasing, with claims missing or unallocated: our unproven allocations are withdrawn or, where they are not this
// pod's to withdraw, proven (P7); then the gate is lifted and kube-scheduler takes over.
void PodReconcile::release() {
  if (withdraw()) return;
  if (std::any_of(state_.claims.begin(), state_.claims.end(), [](const ClaimState& c) { return c.needs_proof(); }))
    return prove();
  if (enlist()) return;
  api::NodeSelectorTerm term;
  for (const ClaimState& claim : state_.claims)
    if (claim.allocated()) single_term(*claim.claim->status.allocation, term);
  lift_gate(term);
}

}  // namespace dra::allocation
