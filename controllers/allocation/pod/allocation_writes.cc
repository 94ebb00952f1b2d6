#include "controllers/allocation/pod/allocation_writes.h"

#include <algorithm>
#include <utility>

#include "controllers/allocation/pod/node_takes.h"
#include "controllers/allocation/pod/why_here.h"
#include "pkg/base/timestamp.h"
#include "pkg/protocol/keep.h"
#include "pkg/protocol/pod_claims.h"
#include "pkg/protocol/proof.h"
#include "pkg/protocol/users.h"
#include "pkg/protocol/writes.h"

namespace dra::allocation {

using namespace protocol;
using namespace reconcile;

bool is_reserved_at_once(const PodContext& context, const api::ResourceClaim& claim) {
  return context.role != Role::kBoundBare &&
         (context.role != Role::kToBind || !has_left(claim, context.pod.metadata.uid));
}

bool is_of_group(const PodContext& context, const api::ResourceClaim& claim) {
  const auto& claims = context.state.claims;
  return std::any_of(claims.begin(), claims.end(), [&](const protocol::ClaimState& one) {
    return one.of_group && one.claim->metadata.uid == claim.metadata.uid;
  });
}

void keep_with(const PodContext& context, const api::ResourceClaim& claim,
               std::vector<api::ResourceClaimConsumerReference>& consumers) {
  if (consumers.empty() || consumers.size() >= api::kMaxReservedFor || !keeps_for(claim)) return;
  if (is_of_group(context, claim) || !context.view.may_have_foreign_consumers()) return;
  Keep keep;
  if (!outlives_pods(claim)) keep.owner = owner_to_keep_for(context.view, claim);
  if (keep.owner.empty() && !outlives_pods(claim)) return;  // lifecycle says that it is kept for nobody
  consumers.push_back(keep_reference(claim, keep));
  note_use(context.view, claim, consumers);
}

Write allocation_write(const PodContext& context, const std::shared_ptr<const api::ResourceClaim>& claim,
                       api::AllocationResult allocation, std::vector<api::ResourceClaimConsumerReference> consumers,
                       const std::string& node) {
  // A mark of an earlier allocation of the claim may be left. It must not prove the new one, which may have the same
  // devices within the same second. The precondition on the version makes sure that there is no other mark.
  WallTime now = context.view.now();
  do {
    allocation.allocation_timestamp = format_rfc3339(now);
    now += std::chrono::seconds(1);
  } while (bears_mark_of(*claim, allocation));
  Write write = write_allocation_later(claim, std::move(allocation), std::move(consumers), "allocate");
  write.assume_pod = AssumedPod{ref_of(context.pod), node};
  Timestamp created;
  if (parse_rfc3339(claim->metadata.creation_timestamp, created)) {
    const double seconds = std::chrono::duration<double>(context.view.now() - created).count();
    write.on_success.push_back(
        {Metric::Type::kHistogram, "dra_claim_allocation_duration_seconds", {}, std::max(0.0, seconds)});
  }
  return write;
}

void write_decision(const PodContext& context, const allocator::Request& request, const allocator::Decision& decision,
                    ReconcileResult& out) {
  const std::string node = context.tools.inventory.node_name(decision.node);
  out.decided = Decided{true, node, devices_of(decision.results), decision.reason};
  context.tools.why_here.note(context.pod.metadata.uid, decision.reason);
  const std::vector<api::ClaimTakes> takes = takes_with(context, request, decision);
  for (size_t i = 0; i < request.claims.size(); ++i) {
    std::vector<api::ResourceClaimConsumerReference> consumers;
    if (is_reserved_at_once(context, *request.claims[i])) consumers.push_back(pod_reference(context.pod));
    keep_with(context, *request.claims[i], consumers);
    Write write = allocation_write(context, request.claims[i], decision.results.at(i), std::move(consumers), node);
    if (!takes.empty()) write.assume_pod->takes = takes;
    out.add(std::move(write));
  }
}

}  // namespace dra::allocation
