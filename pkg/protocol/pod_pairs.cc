#include "pkg/protocol/pod_pairs.h"

#include <algorithm>
#include <string>

#include "pkg/protocol/pod_claims.h"

namespace dra::protocol {

namespace {

bool has_pairs(const api::ObjectMeta& metadata) {
  return !metadata.annotations.empty() && metadata.annotations.contains(alignment::kPairsAnnotation);
}

bool is_meant(const api::Pod& pod, const api::PodResourceClaim& entry, const api::ResourceClaim& claim) {
  if (entry.resource_claim_name) return claim.metadata.name == *entry.resource_claim_name;
  if (!entry.resource_claim_template_name) return false;
  return claim.metadata.name == resolve_created_claim(pod, entry).name ||
         (is_for_pod(pod, claim) && is_made_for(pod, entry.name, claim)) ||
         claim.metadata.name == pod.metadata.name + "-" + entry.name;
}

}  // namespace

std::vector<alignment::ClaimName> claim_names(const api::Pod& pod,
                                              std::span<const std::shared_ptr<const api::ResourceClaim>> claims) {
  std::vector<alignment::ClaimName> names;
  for (const api::PodResourceClaim& entry : pod.resource_claims)
    for (uint32_t c = 0; c < claims.size(); ++c)
      if (is_meant(pod, entry, *claims[c])) {
        names.push_back({entry.name, c});
        break;
      }
  return names;
}

alignment::PodPairs pairs_of_pod(const api::Pod& pod,
                                 std::span<const std::shared_ptr<const api::ResourceClaim>> claims) {
  if (!has_pairs(pod.metadata) &&
      std::none_of(claims.begin(), claims.end(), [](const auto& claim) { return has_pairs(claim->metadata); }))
    return {};
  std::vector<const api::ResourceClaim*> pointers;
  for (const auto& claim : claims) pointers.push_back(claim.get());
  return alignment::read_pod_pairs(pod.metadata.annotations, pointers, claim_names(pod, claims));
}

}  // namespace dra::protocol
