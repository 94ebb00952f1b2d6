#include "controllers/allocation/pod/held_alignment.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "controllers/allocation/members/group_hints.h"
#include "controllers/allocation/members/rails.h"
#include "controllers/allocation/pod/report.h"
#include "controllers/allocation/pod/withdraw.h"
#include "pkg/allocator/held_pairs.h"
#include "pkg/inventory/device_values.h"
#include "pkg/protocol/pod_pairs.h"
#include "pkg/protocol/rails.h"

namespace dra::allocation {

using namespace protocol;
using namespace reconcile;

namespace {

using Claims = std::vector<std::shared_ptr<const api::ResourceClaim>>;

constexpr Duration kLookAgain = std::chrono::seconds(10);  // at slices that are published anew

bool bears_pairs(const api::ObjectMeta& metadata) {
  return metadata.annotations.contains(alignment::kPairsAnnotation);
}

Claims claims_of(const PodContext& context) {
  Claims claims;
  for (const protocol::ClaimState& claim : context.state.claims) claims.push_back(claim.claim);
  return claims;
}

// What was decided about unmarked claims stands only with their mark: their annotations still count.
alignment::PodPairs pairs_before_marks(const PodContext& context) {
  Claims open;
  for (const protocol::ClaimState& claim : context.state.claims) {
    open.push_back(claim.claim);
    if (!claim.needs_proof() || !bears_pairs(claim.claim->metadata)) continue;
    auto copy = std::make_shared<api::ResourceClaim>(*claim.claim);
    copy->status = {};
    open.back() = std::move(copy);
  }
  return pairs_of_pod(context.pod, open);
}

// `decided`: by a search, so that what takes too long to find out was found then.
std::string unmet(const PodContext& context, const std::vector<alignment::PairEntry>& entries, bool decided) {
  const inventory::DeviceIndex& device_index = context.tools.inventory.device_index();
  const Claims claims = claims_of(context);
  inventory::NodeId node = inventory::kNone;
  for (const auto& claim : claims)
    if (claim->status.allocation && node == inventory::kNone)
      node = inventory::node_of(device_index, *claim->status.allocation);
  const auto rules = allocator::pair_rules(entries, claims);
  const allocator::HeldPairs held = allocator::held_pairs(rules, device_index, node);
  return held.unknown && decided ? "" : allocator::held_sentence(held);
}

bool wait_because(const PodContext& context, const std::string& why, ReconcileResult& out) {
  say_waiting(context, {"FailedAllocation", why, why}, Fit::kNowhere, out);
  count_failure(context, std::string(allocator::cause_name(allocator::Cause::kConstraint)), out);
  out.requeue_in(kLookAgain);
  return false;
}

}  // namespace

std::string unmet_pairs(const PodContext& context) {
  const std::vector<protocol::ClaimState>& claims = context.state.claims;
  if (!bears_pairs(context.pod.metadata) &&
      std::none_of(claims.begin(), claims.end(), [](const auto& claim) { return bears_pairs(claim.claim->metadata); }))
    return "";
  const alignment::PodPairs read = pairs_before_marks(context);
  return read.refusal ? read.refusal->message : unmet(context, read.entries, true);
}

bool pairs_hold(const PodContext& context, ReconcileResult& out) {
  const std::string why = unmet_pairs(context);
  if (why.empty()) return true;
  if (withdraw_claims(context, out)) {
    count_failure(context, "LostRace", out);
    return false;
  }
  return wait_because(context, why, out);
}

bool use_is_aligned(const PodContext& context, ReconcileResult& out) {
  const std::vector<protocol::ClaimState>& claims = context.state.claims;
  if (claims.empty() || std::any_of(claims.begin(), claims.end(), [](const auto& claim) { return claim.listed; }))
    return true;
  if (bears_pairs(context.pod.metadata)) {
    const alignment::PodPairs read = pairs_of_pod(context.pod, claims_of(context));
    std::string why = read.refusal ? read.refusal->message : unmet(context, read.entries, false);
    if (!why.empty() && !read.refusal)
      why = "its claims are allocated already, and " + why +
            "; name claims that are not allocated, or make the pod without the annotation";
    if (!why.empty()) return wait_because(context, why, out);
  }
  const bool no_rails = context.group != nullptr ? context.group->no_rails : !asks_for_rails(context.view, context.pod);
  if (no_rails || !context.tools.options.prove_rails) return true;
  const RailsProof proof(context.view, context.tools.inventory, context.pod);
  return proof.holds() || wait_because(context, "its claims are allocated already, and " + proof.why(), out);
}

}  // namespace dra::allocation
