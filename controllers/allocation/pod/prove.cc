#include "controllers/allocation/pod/prove.h"

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "controllers/allocation/members/group_hints.h"
#include "controllers/allocation/members/rails.h"
#include "controllers/allocation/pod/candidates.h"
#include "controllers/allocation/pod/conflicts.h"
#include "controllers/allocation/pod/held_alignment.h"
#include "controllers/allocation/pod/node_takes.h"
#include "controllers/allocation/pod/not_found.h"
#include "controllers/allocation/pod/prepare.h"
#include "controllers/allocation/pod/report.h"
#include "controllers/allocation/pod/withdraw.h"
#include "pkg/protocol/pod_claims.h"
#include "pkg/protocol/proof.h"
#include "pkg/protocol/rail_mark.h"
#include "pkg/protocol/users.h"
#include "pkg/protocol/writes.h"

namespace dra::allocation {

using namespace protocol;
using namespace reconcile;

namespace {

// In bind mode the event goes with the last proof; in gate mode with the lifting of the gate.
void say_allocated(const PodContext& context, ReconcileResult& out) {
  for (auto effect = out.effects.rbegin(); effect != out.effects.rend(); ++effect)
    if (Write* write = std::get_if<Write>(&*effect)) {
      write->success_event = allocated_event(context);
      return;
    }
}

}  // namespace

bool rails_hold(const PodContext& context, ReconcileResult& out) {
  if (!context.tools.options.prove_rails || (context.group != nullptr && context.group->no_rails)) return true;
  const RailsProof proof(context.view, context.tools.inventory, context.pod);
  if (proof.holds()) return true;
  if (proof.must_leave(context.pod) && withdraw_claims(context, out)) {
    count_failure(context, "LostRace", out);
    return false;
  }
  say_waiting(context, {"GroupWaits", "waits: " + proof.why(), proof.why()}, Fit::kUndecided, out);
  out.requeue_in(std::chrono::seconds(1));
  return false;
}

void prove_claims(const PodContext& context, ReconcileResult& out) {
  // The reconciles of the pod for which a claim is reserved prove the claim.
  for (const protocol::ClaimState& claim : context.state.claims)
    if (claim.needs_proof() && !claim.in_stream) return;  // the stream requeues the key
  if (const Conflicts conflicts = conflicts_of(context); !conflicts.empty()) return give_way(context, conflicts, out);
  if (context.role != Role::kBoundBare) {
    const bool releasing = is_releasing(context);
    const Candidates candidates = candidate_nodes(context, out);
    const bool none = candidates.choice.nodes.empty();
    if (waits_for_watch(candidates.choice, out)) return;
    if (none && (releasing ? withdraw_claims(context, out) : withdraw_or_leave(context, out))) return;
    if (none && !releasing) return report_no_node(context, candidates, out);
    if (!none && !releasing && !takes_alone(context, out)) return;
    if (!none && !prepare_binding(context, candidates, out)) return;
    if ((!releasing && !pairs_hold(context, out)) || !rails_hold(context, out)) return;
  }
  if (context.role == Role::kExplain) return;  // observe mode: nothing prevents a proof, but nobody writes one
  add_marks(context, out);
}

void add_marks(const PodContext& context, ReconcileResult& out, const PodRails* known_rails) {
  const api::ObjectMeta& pod = context.pod.metadata;
  std::optional<PodRails> read;
  for (const protocol::ClaimState& claim : context.state.claims) {
    if (!claim.needs_proof()) continue;
    const api::ResourceClaim& object = *claim.claim;
    std::vector<std::string> finalizers = object.metadata.finalizers;
    if (!object.metadata.has_finalizer(api::kDeleteProtectionFinalizer))
      finalizers.emplace_back(api::kDeleteProtectionFinalizer);
    // A list left over from an earlier allocation says nothing, except who left.
    std::vector<User> users = users_of(object);
    const bool of_now = bears_mark_of(object, *object.status.allocation);
    std::erase_if(users, [&](const User& user) { return user.left ? user.uid == pod.uid : !of_now; });
    if (!of_now || !claim.listed) users.insert(users.begin(), {pod.name, pod.uid});
    std::map<std::string, std::optional<std::string>> annotations{
        {std::string(kProofAnnotation), proof_value(pod.uid, *object.status.allocation)},
        {std::string(kProvenForAnnotation), users_value(users)}};
    if (known_rails == nullptr && !(context.group != nullptr && context.group->no_rails)) {
      read = rails_of(context.view, context.pod);
      known_rails = &*read;
    }
    if (known_rails != nullptr && known_rails->any)
      if (std::string mark = rails_mark_of(*known_rails, context.tools.inventory, object); !mark.empty())
        annotations[std::string(kRailsMarkAnnotation)] = std::move(mark);
    out.add(write_metadata(object, finalizers, annotations, "prove"));
  }
  if (context.role == Role::kToBind) say_allocated(context, out);
}

}  // namespace dra::allocation
