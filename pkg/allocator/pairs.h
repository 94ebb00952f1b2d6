// Pairs: groups of devices, over the requests of a pod, that share a value of an attribute
// (dra-controller-manager/pairs).
//
//   const alignment::PodPairs read = alignment::read_pod_pairs(pod.metadata.annotations, claims, names);
//   if (!read.refusal) request.pairs = pair_rules(read.entries, claims);
//
// A group has, of each term's request, as many devices as its number says. The number of groups asked is the least,
// over the terms, of the devices that the request takes divided by its number. Plain values; pure.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "pkg/alignment/pod_pairs.h"
#include "pkg/allocator/locality.h"
#include "pkg/api/resource.h"

namespace dra::allocator {

// In PairRule::Term::claim: the request belongs to a claim that is allocated already.
inline constexpr uint32_t kAllocatedClaim = UINT32_MAX;

struct PairRule {
  struct Term {
    uint32_t claim = 0;    // index in Request::claims, or kAllocatedClaim
    uint32_t request = 0;  // index in the claim's spec.requests
    uint32_t number = 1;
    std::string name;             // of the request, for people
    std::vector<Anchor> devices;  // kAllocatedClaim: what the request has
    bool operator==(const Term&) const = default;
  };
  std::vector<Term> terms;
  std::string attribute;
  std::string text;  // "gpu+nic by resource.kubernetes.io/pcieRoot", for people
  bool operator==(const PairRule&) const = default;
};

// `claims`: all of the pod, in the order in which the entries number them. Request::claims must be those of them that
// are not allocated, in the same order.
std::vector<PairRule> pair_rules(const std::vector<alignment::PairEntry>& entries,
                                 std::span<const std::shared_ptr<const api::ResourceClaim>> claims);

// A node with too few groups for a rule.
struct PairShort {
  uint32_t node = 0;   // inventory::NodeId
  uint32_t entry = 0;  // index in Request::pairs
  uint32_t has = 0;    // groups of devices that the named requests could each take now, at most `asked`
  uint32_t asked = 0;
  bool operator==(const PairShort&) const = default;
};

// The first of those that lack the fewest groups; null: there is none.
const PairShort* nearest_to_enough(std::span<const PairShort> all);

// "node a has 6 such pairs (gpu+nic by resource.kubernetes.io/pcieRoot), 8 are asked"
std::string short_sentence(const std::string& node, const std::string& text, uint32_t has, uint32_t asked);
// "gpu takes 1 device, a group of gpu*2 needs 2: this never fits"
std::string never_sentence(const std::string& request, uint64_t takes, uint32_t number);

}  // namespace dra::allocator
