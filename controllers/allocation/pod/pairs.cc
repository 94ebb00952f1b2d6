#include "controllers/allocation/pod/pairs.h"

#include <memory>
#include <string>

#include "controllers/allocation/pod/report.h"
#include "controllers/allocation/pod/withdraw.h"
#include "pkg/protocol/pod_claims.h"

namespace dra::allocation {

using namespace protocol;
using namespace reconcile;

namespace {

bool asks_for_pairs(const api::Pod& pod, const std::vector<protocol::ClaimState>& claims) {
  const auto bears = [](const api::StringMap& annotations) {
    return !annotations.empty() && annotations.find(alignment::kPairsAnnotation) != annotations.end();
  };
  if (bears(pod.metadata.annotations)) return true;
  for (const protocol::ClaimState& claim : claims)
    if (bears(claim.claim->metadata.annotations)) return true;
  return false;
}

}  // namespace

alignment::PodPairs read_pairs(const api::Pod& pod, const std::vector<protocol::ClaimState>& claims) {
  if (!asks_for_pairs(pod, claims)) return {};
  std::vector<const api::ResourceClaim*> objects;
  for (const protocol::ClaimState& claim : claims) objects.push_back(claim.claim.get());
  std::vector<alignment::ClaimName> names;
  for (const api::PodResourceClaim& entry : pod.resource_claims) {
    const std::string name = resolve_created_claim(pod, entry).name;
    for (uint32_t c = 0; c < objects.size(); ++c)
      if (objects[c]->metadata.name == name) names.push_back({entry.name, c});
  }
  return alignment::read_pod_pairs(pod.metadata.annotations, objects, names);
}

namespace {

std::vector<allocator::PairRule> rules_of(const PodContext& context, const alignment::PodPairs& pairs) {
  if (pairs.entries.empty()) return {};
  std::vector<std::shared_ptr<const api::ResourceClaim>> claims;
  for (const protocol::ClaimState& claim : context.state.claims) claims.push_back(claim.claim);
  return allocator::pair_rules(pairs.entries, claims);
}

}  // namespace

std::vector<allocator::PairRule> pair_rules_of(const PodContext& context) {
  return rules_of(context, read_pairs(context.pod, context.state.claims));
}

std::optional<std::vector<allocator::PairRule>> pairs_of_pod(const PodContext& context, ReconcileResult& out) {
  const alignment::PodPairs pairs = read_pairs(context.pod, context.state.claims);
  if (pairs.refusal) {
    // A sibling that is allocated already gives its devices back first.
    if (!withdraw_or_leave(context, out)) report_refused_pairs(context, pairs, out);
    return std::nullopt;
  }
  return rules_of(context, pairs);
}

void report_refused_pairs(const PodContext& context, const alignment::PodPairs& pairs, ReconcileResult& out) {
  const std::string& message = pairs.refusal->message;
  if (pairs.refused_claim) {
    const api::ResourceClaim& claim = *context.state.claims.at(*pairs.refused_claim).claim;
    complain_of_claim(context, claim, message, message, out);
    say_waiting(context, {"FailedAllocation", "claim " + claim.metadata.key() + ": " + message, message}, Fit::kNowhere,
                out);
  } else {
    say_waiting(context, {"FailedAllocation", message, message}, Fit::kNowhere, out);
  }
  count_failure(context, std::string(allocator::cause_name(allocator::Cause::kInvalidRequest)), out);
}

}  // namespace dra::allocation
