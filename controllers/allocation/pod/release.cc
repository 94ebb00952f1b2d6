#include "controllers/allocation/pod/release.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "controllers/allocation/pod/bind_extended.h"
#include "controllers/allocation/pod/candidates.h"
#include "controllers/allocation/pod/conflicts.h"
#include "controllers/allocation/pod/extended_use.h"
#include "controllers/allocation/pod/held_alignment.h"
#include "controllers/allocation/pod/node_takes.h"
#include "controllers/allocation/pod/not_found.h"
#include "controllers/allocation/pod/prepare.h"
#include "controllers/allocation/pod/prove.h"
#include "controllers/allocation/pod/report.h"
#include "controllers/allocation/pod/reserve.h"
#include "controllers/allocation/pod/why_here.h"
#include "controllers/allocation/pod/withdraw.h"
#include "pkg/protocol/pod_claims.h"
#include "pkg/protocol/writes.h"

namespace dra::allocation {

using namespace protocol;
using namespace reconcile;

namespace {

constexpr std::chrono::milliseconds kOverlapPause{250};

void bind_pod(const PodContext& context, const std::string& node, ReconcileResult& out) {
  Write write = write_binding(context.pod, node);
  write.success_event = Event{ref_of(context.pod),
                              false,
                              "Scheduled",
                              "Binding",
                              "Successfully assigned " + context.pod.metadata.key() + " to " + node,
                              ""};
  out.add(std::move(write));
  // If the reconciles of other pods proved all of its claims, no event has said so yet.
  if (!context.state.claims.empty() && !context.view.last_event(context.pod.metadata.uid, "Allocated"))
    out.add(allocated_event(context));
  out.min_interval = std::chrono::seconds(2);  // the answer does not contain the pod: the stream shows it bound
}

// The pod is pinned to nodes by the term, unless that is empty.
void lift_gate(const PodContext& context, const api::NodeSelectorTerm& term, ReconcileResult& out) {
  Write write = write_ungated(context.pod, kAllocationGate, term, is_bound_by_us(context));
  const std::vector<protocol::ClaimState>& claims = context.state.claims;
  if (std::none_of(claims.begin(), claims.end(), [](const protocol::ClaimState& one) { return one.allocated(); })) {
    if (is_releasing(context))
      write.success_event = Event{ref_of(context.pod),
                                  false,
                                  "GateReleased",
                                  "Allocate",
                                  "the gate is lifted without devices, because the manager is about to be uninstalled "
                                  "(--release-gates); kube-scheduler allocates them",
                                  ""};
    return void(out.add(std::move(write)));
  }
  std::string where = devices_words(context.state);
  if (term.match_fields.size() == 1 && term.match_fields.front().values.size() == 1)
    where += " on node " + term.match_fields.front().values.front();
  where += context.tools.why_here.clause(context.pod.metadata.uid);
  write.success_event = Event{ref_of(context.pod), false, "Allocated", "Allocate", where + "; the gate is lifted", ""};
  out.add(std::move(write));
  show_allocated(context, where, out);
}

// kube-scheduler waits for the conditions when it binds. If one fails, it takes the devices away and allocates again on
// the node to which the pod is pinned: a foreign allocation that nobody proves.
void warn_of_binding_conditions(const PodContext& context, ReconcileResult& out) {
  for (const protocol::ClaimState& claim : context.state.claims)
    for (const api::DeviceRequestAllocationResult& result : claim.claim->status.allocation->results) {
      if (result.binding_conditions.empty()) continue;
      const std::string note =
          "device " + result.driver + "/" + result.pool + "/" + result.device + " of claim \"" +
          claim.claim->metadata.key() +
          "\" has binding conditions: if one fails, kube-scheduler allocates again, unproven; such "
          "devices belong to bind mode";
      return complain(context, {"BindingConditions", note, claim.claim->metadata.uid}, out);
    }
}

}  // namespace

void use_claims(const PodContext& context, ReconcileResult& out) {
  if (const std::optional<nodes::NodeChoice> choice = ready_to_go(context, false, out))
    ungate_or_bind(context, *choice, out);
}

std::optional<nodes::NodeChoice> ready_to_go(const PodContext& context, bool without_conflict, ReconcileResult& out) {
  const Role role = context.role;
  const bool releasing = is_releasing(context);
  // Observe mode writes nothing; for pods bound by others the lifecycle controller reserves.
  if (role == Role::kExplain || role == Role::kBoundBare || is_being_bound(context, out)) return {};
  // A foreign allocation may have come after the mark. No pod is bound with a device that somebody else holds.
  if (!releasing && !without_conflict) {
    Conflicts conflicts = conflicts_of(context);
    const bool overlap = !conflicts.empty();
    if (const Conflicts lasting = lasting_of(context, std::move(conflicts)); !lasting.empty())
      return give_way(context, lasting, out), std::nullopt;
    // An unproven allocation of ours gives way to a proven one, so wait for that. Going at once would trust our mark,
    // which a tenant may have written: then the other's proof may be older, and its mark under way.
    if (overlap) return out.requeue_in(kOverlapPause), std::nullopt;
  }
  Candidates candidates;
  // Without claims the gate has nothing to wait for, and kube-scheduler finds the node.
  if (role == Role::kToBind || !context.state.claims.empty()) {
    candidates = candidate_nodes(context, out);
    if (waits_for_watch(candidates.choice, out)) return {};
    // A pod that cannot run where its claims are must not hold them: others may wait for the devices.
    if (candidates.choice.nodes.empty() && !releasing) {
      forget_ready(context, out);
      if (!withdraw_or_leave(context, out)) report_no_node(context, candidates, out);
      return {};
    }
  }
  if (role == Role::kToBind && (!takes_alone(context, out) || !prepare_binding(context, candidates, out))) return {};
  if (!releasing && !use_is_aligned(context, out)) return {};
  const bool reserving = reserve_claims(context, candidates.choice, out);
  if (out.has_writes() || enlist_pod(context, out) || reserving) return {};
  if (context.state.unpublished && !releasing) {
    // Its publication enqueues the pod; while that is refused, the node may be lost.
    out.requeue_in(std::chrono::seconds(5));
    return {};
  }
  if (role == Role::kToBind && !publish_extended(context, out)) return {};
  if (role == Role::kToBind && !publish_takes(context, candidates.choice, out)) return {};
  return std::move(candidates.choice);
}

void ungate_or_bind(const PodContext& context, const nodes::NodeChoice& choice, ReconcileResult& out) {
  if (context.role == Role::kToBind) return bind_pod(context, std::string(choice.nodes.front()), out);
  // A pin would only keep it from every other node if this one is lost before it is bound (P8).
  if (is_bound_by_us(context) && !is_releasing(context)) return lift_gate(context, {}, out);
  api::NodeSelectorTerm term;
  for (const protocol::ClaimState& claim : context.state.claims) {
    if (single_term(*claim.claim->status.allocation, term)) continue;
    // An OR of terms cannot be added to the pod's own terms: one node that they allow has to do.
    term = {};
    if (!choice.nodes.empty())
      term.match_fields.push_back({"metadata.name", "In", {std::string(choice.nodes.front())}});
    break;
  }
  narrow_to_advertising(context, choice, term);
  warn_of_binding_conditions(context, out);
  lift_gate(context, term, out);
}

void release_pod(const PodContext& context, ReconcileResult& out) {
  if (withdraw_claims(context, out)) return;
  const std::vector<protocol::ClaimState>& claims = context.state.claims;
  if (std::any_of(claims.begin(), claims.end(), [](const protocol::ClaimState& claim) { return claim.needs_proof(); }))
    return prove_claims(context, out);
  if (enlist_pod(context, out)) return;
  api::NodeSelectorTerm term;
  for (const protocol::ClaimState& claim : claims)
    if (claim.allocated()) single_term(*claim.claim->status.allocation, term);
  lift_gate(context, term, out);
}

}  // namespace dra::allocation
