#include "pkg/inspect/state/pairs.h"

#include <algorithm>
#include <optional>

#include "pkg/alignment/bears.h"
#include "pkg/alignment/pod_pairs.h"
#include "pkg/protocol/pod_claims.h"

namespace dra::inspect {
namespace {

using Claims = std::vector<std::shared_ptr<const api::ResourceClaim>>;

// The claim of an entry, by the names that a claim for it has or would have.
std::optional<uint32_t> claim_of_entry(const api::Pod& pod, const api::PodResourceClaim& entry, const Claims& claims) {
  const std::string names[] = {protocol::resolve_created_claim(pod, entry).name,
                               entry.resource_claim_name.value_or(pod.metadata.name + "-" + entry.name)};
  for (const std::string& name : names)
    for (uint32_t c = 0; c < claims.size(); ++c)
      if (!name.empty() && claims[c]->metadata.name == name) return c;
  return std::nullopt;
}

bool asks_for_any(const api::Pod* pod, const Claims& claims) {
  return (pod != nullptr && !alignment::first_annotation(pod->metadata.annotations).empty()) ||
         std::any_of(claims.begin(), claims.end(), [](const auto& claim) {
           return !alignment::first_annotation(claim->metadata.annotations).empty();
         });
}

}  // namespace

AskedPairs asked_pairs(const api::Pod* pod, const Claims& claims) {
  AskedPairs asked;
  if (!asks_for_any(pod, claims)) return asked;
  // Two entries may name one claim.
  std::vector<const api::ResourceClaim*> distinct;
  std::vector<uint32_t> first_of;  // by number in `distinct`: the number in `claims`
  std::vector<uint32_t> number(claims.size());
  for (uint32_t c = 0; c < claims.size(); ++c) {
    const auto known = std::find_if(distinct.begin(), distinct.end(), [&](const api::ResourceClaim* one) {
      return one == claims[c].get() || (!one->metadata.uid.empty() && one->metadata.uid == claims[c]->metadata.uid);
    });
    number[c] = static_cast<uint32_t>(known - distinct.begin());
    if (known != distinct.end()) continue;
    distinct.push_back(claims[c].get());
    first_of.push_back(c);
  }
  std::vector<alignment::ClaimName> names;
  if (pod != nullptr)
    for (const api::PodResourceClaim& entry : pod->resource_claims)
      if (const auto claim = claim_of_entry(*pod, entry, claims)) names.push_back({entry.name, number[*claim]});
  static const api::StringMap kNone;
  alignment::PodPairs read =
      alignment::read_pod_pairs(pod != nullptr ? pod->metadata.annotations : kNone, distinct, names);
  if (read.refusal) {
    asked.refused =
        (read.refused_claim ? "ResourceClaim " + distinct[*read.refused_claim]->metadata.key() + ": " : "") +
        read.refusal->message;
    return asked;
  }
  for (alignment::PairEntry& entry : read.entries)
    for (alignment::PairTerm& term : entry.terms) term.claim = first_of[term.claim];
  asked.rules = allocator::pair_rules(read.entries, claims);
  return asked;
}

}  // namespace dra::inspect
