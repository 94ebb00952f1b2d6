// Which labels a claim's devices count under, and what each is of a card.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "pkg/api/core.h"
#include "pkg/api/resource.h"
#include "pkg/usage/ledger.h"

namespace dra::usage {

// On a DeviceClass: the counter or capacity by which its devices are weighed, instead of the mean of all.
inline constexpr std::string_view kUsageCounterAnnotation = "dra-controller-manager/usage-counter";

struct ClaimFacts {
  // Null: there is no such class.
  std::function<const api::DeviceClass*(std::string_view)> find_class;
  // By uid and key "namespace/name"; null: not seen.
  std::function<const api::Pod*(std::string_view uid, const std::string& key)> find_pod;
};

// The kind of what the claim belongs to: of its pod's controller ("Job", "ReplicaSet"), "Pod" for a pod by itself, of
// the claim's own owner, or "none".
std::string owner_kind_of(const api::ResourceClaim& claim, const ClaimFacts& facts);

// What the claim holds, by labels; nothing while it is not allocated. Devices with admin access hold nothing. The class
// is that of the request; "other" where there is no such class any more.
std::vector<Use> claim_uses(const api::ResourceClaim& claim, Weigher& weigher, const ClaimFacts& facts);

}  // namespace dra::usage
