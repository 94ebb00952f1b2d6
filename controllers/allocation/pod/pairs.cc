#include "controllers/allocation/pod/pairs.h"

#include <memory>
#include <string>

#include "controllers/allocation/pod/report.h"
#include "controllers/allocation/pod/withdraw.h"
#include "pkg/protocol/pod_pairs.h"

namespace dra::allocation {

std::optional<std::vector<allocator::PairRule>> pairs_asked(const PodContext& context,
                                                            const std::vector<protocol::ClaimState>& claims,
                                                            reconcile::ReconcileResult& out) {
  std::vector<std::shared_ptr<const api::ResourceClaim>> objects;
  objects.reserve(claims.size());
  for (const protocol::ClaimState& claim : claims) objects.push_back(claim.claim);
  const alignment::PodPairs read = protocol::pairs_of_pod(context.pod, objects);
  if (!read.refusal) return allocator::pair_rules(read.entries, objects);
  if (withdraw_or_leave(context, out)) return std::nullopt;
  std::string where = "the pod's ";
  if (read.refused_claim) where = "claim \"" + objects[*read.refused_claim]->metadata.key() + "\": ";
  const std::string note =
      where + read.refusal->message + " (" + std::string(alignment::kind_name(read.refusal->kind)) + ")";
  say_waiting(context, {"FailedAllocation", note, note}, Fit::kNowhere, out);
  count_failure(context, std::string(allocator::cause_name(allocator::Cause::kInvalidRequest)), out);
  return std::nullopt;
}

}  // namespace dra::allocation
