// The pairs of one pod: those of its claims and its own, resolved to requests.
//
//   const PodPairs pairs = read_pod_pairs(pod.metadata.annotations, claims, names);
//   if (pairs.refusal) the pod waits and gets the sentence; else request.pairs = pairs.entries;
//
// Order, which numbers the entries: those of the claims in order, then the pod's. Texts are judged in this order, then
// names. A claim that is allocated already has no entries: what it asked for was decided; the pod's entries may name
// its requests. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "pkg/alignment/alignment.h"
#include "pkg/api/meta.h"
#include "pkg/api/resource.h"

namespace dra::alignment {

struct PairTerm {
  uint32_t claim = 0;    // index in the claims that were given
  uint32_t request = 0;  // index in its spec.requests
  uint32_t number = 1;
  bool operator==(const PairTerm&) const = default;
};

struct PairEntry {
  std::vector<PairTerm> terms;
  std::string attribute;
  std::string text;  // for people: "gpu+nic by resource.kubernetes.io/pcieRoot"
  bool operator==(const PairEntry&) const = default;
};

struct PodPairs {
  std::vector<PairEntry> entries;  // at most kMaxEntries
  std::optional<Refusal> refusal;  // then there are no entries
  // The claim whose annotation is refused, as an index; unset: the pod's.
  std::optional<uint32_t> refused_claim;
};

// A name in the pod's spec.resourceClaims and the claim that it means, as an index in the claims.
struct ClaimName {
  std::string name;
  uint32_t claim = 0;
};

// `claims`: distinct, not null, in the pod's order. Costs one look-up per claim and one of the pod if none has pairs.
PodPairs read_pod_pairs(const api::StringMap& pod_annotations, std::span<const api::ResourceClaim* const> claims,
                        std::span<const ClaimName> names);

}  // namespace dra::alignment
