// Chain: the links from a pod to its devices, and the first broken one:
//
//   pod -> entry -> template or claim -> allocation -> reservation -> node -> devices -> driver
//   container -> entry -> request of the claim
//
// Pure over a State. The rules are those of kubelet and kube-scheduler:
// k8s.io/dynamic-resource-allocation/resourceclaim and kubelet's DRA manager of 1.36.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pkg/inspect/state/state.h"

namespace dra::inspect {

enum class Break : uint8_t {
  kTemplateMissing,
  kClaimNotMade,  // the template exists, the claim does not yet
  kClaimMissing,
  kWrongOwner,  // the claim belongs to another pod, or to an older one of the same name
  kClaimStuck,  // being deleted, and kept by a finalizer that nobody needs any more
  kNotAllocated,
  kAllocatedElsewhere,
  kNotReserved,
  kWrongReservation,  // reserved for an older pod of the same name
  kDriverAbsent,      // the driver publishes nothing in the device's pool
  kDeviceGone,        // the driver publishes, but no longer this device
  kPoolUnusable,      // incomplete or invalid
  kDeviceTainted,     // NoExecute, not tolerated
  kPrepareFailing,    // the driver or kubelet reports it
  kRequestMissing,    // a container names a request that its claim does not have
  kUnhealthy,         // kubelet passes on that the driver reports the device so
  kQuotaRefuses,      // the template exists, and a ResourceQuota refuses the claim from it
  kNodeNotReady,      // the pod's node: its kubelet is not heard, so nothing is prepared
};

std::string_view break_name(Break kind);  // "TemplateMissing"; a code of explain's statements
inline constexpr int kBreaks = static_cast<int>(Break::kNodeNotReady) + 1;

struct BrokenLink {
  Break kind = Break::kClaimMissing;
  std::string entry;  // its name in the pod's resourceClaims
  std::string link;   // "claim -> allocation"
  std::string text;   // one sentence that names the objects
  std::string to_do;  // the remedy, as a command if there is one; deletes nothing healthy
  std::string since;  // when it broke, in the format of creationTimestamp; empty: nobody records it
};
// The text, and for how long.
std::string words_of(const BrokenLink& link, Timestamp now);

struct Chain {
  std::vector<BrokenLink> broken;    // for each entry the first, in the order of the entries
  std::vector<BrokenLink> notes;     // what a running pod does not suffer from: the driver publishes less than before
  std::vector<Claim> claims;         // the claims that the entries resolve to
  std::vector<std::string> entries;  // the entries of these claims
  size_t hidden = 0;                 // entries whose claim could not be read
};

Chain chain_of(const State& state, const api::Pod& pod);
// For a claim alone: what is broken from its allocation on; `pod` null: for the pods it is reserved for.
std::optional<BrokenLink> broken_claim(const State& state, const api::ResourceClaim& claim, const api::Pod* pod);
// The pod's PodGroup has this entry, too: the claim is the group's (pkg/protocol/group_claims.h).
bool is_entry_of_group(const Objects& objects, const api::Pod& pod, const api::PodResourceClaim& entry);
// Devices that are not published as they were do not disturb pods that run: the driver prepared them, and some drivers
// withdraw devices in use.
bool may_be_withdrawn(Break kind);
bool is_harmless(Break kind, const api::Pod& pod);
// As above for all pods that the claim is reserved for; false if there are none, or one is not known.
bool all_run(const Objects& objects, const api::ResourceClaim& claim);
// How the pod comes back after it was deleted: "its ReplicaSet makes another one"; empty: nobody makes it again.
std::string made_again_by(const api::Pod& pod);

}  // namespace dra::inspect
