// P4: reservations, and the pod lifted from its gate or bound.
#include "controllers/allocation/pod_reconcile.h"

#include <algorithm>

#include "pkg/reconcile/pod_claims.h"
#include "pkg/reconcile/writes.h"

namespace dra::allocation {

using namespace reconcile;

bool PodReconcile::reserve() {
  if (role_ == Role::kExplain || role_ == Role::kBoundBare) return true;  // the lifecycle controller reserves
  bool busy = false;
  for (const ClaimState& claim : state_.claims) {
    if (claim.reserved) {
      // kube-scheduler must not see the pod without its gate before it sees the reservation: it would write its own
      // and fail. Its streams are about as old as ours.
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
    outcome_.add(write_reservations(*claim.claim, consumers, "reserve"));
  }
  return busy;
}

void PodReconcile::let_go() {
  if (role_ == Role::kToBind) {
    const NodeChoice choice = candidate_nodes();
    if (choice.nodes.empty()) return no_node(choice);
    const std::string node(choice.nodes.front());
    Write write = write_binding(pod_, node);
    write.success_event = Event{ref_of(pod_),
                                false,
                                "Scheduled",
                                "Binding",
                                "Successfully assigned " + pod_.metadata.key() + " to " + node,
                                ""};
    outcome_.add(std::move(write));
    outcome_.hold = std::chrono::seconds(2);  // the answer is no pod: the stream shows it bound
    return;
  }
  api::NodeSelectorTerm term;
  for (const ClaimState& claim : state_.claims) {
    if (single_term(*claim.claim->status.allocation, term)) continue;
    // An OR of terms cannot be added to the pod's own: one node of those it allows has to do.
    const NodeChoice choice = candidate_nodes();
    if (choice.nodes.empty() && !releasing()) return no_node(choice);
    term = {};
    if (!choice.nodes.empty())
      term.match_fields.push_back({"metadata.name", "In", {std::string(choice.nodes.front())}});
    break;
  }
  lift_gate(term);
}

void PodReconcile::lift_gate(const api::NodeSelectorTerm& term) {
  Write write = write_ungated(pod_, kAllocationGate, term);
  std::string where = "the devices are allocated";
  if (term.match_fields.size() == 1 && term.match_fields.front().values.size() == 1)
    where += " on node " + term.match_fields.front().values.front();
  write.success_event = Event{ref_of(pod_), false, "Allocated", "Allocate", where + "; the gate is lifted", ""};
  outcome_.add(std::move(write));
}

// Release, with claims that are not there or not allocated: what is ours and unproven goes back or, where it is not
// this pod's to give back, is proven (P7); then the gate goes, and kube-scheduler takes it from there.
void PodReconcile::release() {
  if (withdraw()) return;
  if (std::any_of(state_.claims.begin(), state_.claims.end(), [](const ClaimState& c) { return c.needs_proof(); }))
    return prove();
  api::NodeSelectorTerm term;
  for (const ClaimState& claim : state_.claims)
    if (claim.allocated()) single_term(*claim.claim->status.allocation, term);
  lift_gate(term);
}

}  // namespace dra::allocation
