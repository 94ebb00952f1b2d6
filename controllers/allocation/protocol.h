// Where a pod stands in the protocol P1 to P7 of docs/design/arbitration.md, derived from the objects alone. Pure.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "controllers/allocation/allocation.h"
#include "pkg/api/core.h"
#include "pkg/api/resource.h"
#include "pkg/reconcile/extended.h"
#include "pkg/reconcile/view.h"

namespace dra::allocation {

// What the pod is to us.
enum class Role {
  kNone,       // not ours, or beyond help: finished, deleted, gates of others left
  kGated,      // carries our gate as the last one (or, when gates are released, at all)
  kToBind,     // bind mode, one of our scheduler names, no gates left, not bound
  kBoundBare,  // bind mode, bound by somebody else: its claims may still need an allocation (P7)
  kExplain,    // observe mode: an unbound pod with claims
};
// The pod names one of our scheduler names.
bool is_ours_to_bind(const api::Pod& pod, const Options& options);
Role role_of(const api::Pod& pod, const Options& options);

// One claim of the pod, as the protocol sees it.
struct ClaimState {
  std::shared_ptr<const api::ResourceClaim> claim;
  bool ours = false;       // the allocation was written by us, for certain
  bool unsure = false;     // nobody can tell who wrote it: proven like ours, taken back by nobody
  bool proven = false;     // and bears its mark
  bool reserved = false;   // for this pod
  bool listed = false;     // this pod is on the list of its users (pkg/reconcile/users.h)
  bool in_stream = false;  // the stream layer has exactly this version
  bool reserved_in_stream = false;
  bool allocated() const { return claim->status.allocation.has_value(); }
  bool needs_proof() const { return (ours || unsure) && !proven; }
  // May be used: proven, or not ours to prove (P6).
  bool settled() const { return allocated() && !needs_proof(); }
};

struct PodState {
  std::vector<ClaimState> claims;  // those that the pod's entries need, without duplicates, in the order of the entries
  // Not empty: a claim is missing, deleted or somebody else's; one sentence. The claims above are then incomplete.
  std::string waits_for;
  // The reason will go away by an event of the pod or its claims alone and is no news to anybody.
  bool ordinary_wait = false;
  // Claims that are reserved for the pod (or list it) and of no use to it: being deleted, or not named by it any more.
  std::vector<ClaimState> abandoned;
  // The pod's status does not name all of its claims yet: nothing is to start it.
  bool unpublished = false;
  // The last of `claims` where it is the one made for the pod's extended resources (pkg/reconcile/extended_claim.h).
  std::shared_ptr<const api::ResourceClaim> extended;

  bool all_allocated() const;
  bool all_settled() const;
};

// `extended`: what the pod asks for and a DeviceClass provides.
PodState derive_state(const reconcile::View& view, const api::Pod& pod, const Options& options,
                      const std::vector<reconcile::ExtendedResource>& extended = {});

// P5: the claim's allocation may be taken back by us: ours, without mark, and every pod it is reserved for is known to
// be held back (gated by us, or unbound and ours to bind).
bool may_withdraw(const reconcile::View& view, const ClaimState& state, const Options& options);

// Which node an allocated claim of the pod that is not ours to take back pins it to, why, and what frees it: one
// sentence. Empty when the allocation can be used everywhere.
std::string why_pinned(const api::Pod& pod, const ClaimState& state);

// The requirements that an allocation's node selector puts on a node, if it can be said in one term. False when the
// selector has several terms.
bool single_term(const api::AllocationResult& allocation, api::NodeSelectorTerm& out);

// The devices for people: "driver/pool/device", the first few.
std::string devices_of(const std::vector<api::AllocationResult>& allocations);

// 20 to 220 ms, spread by the pod's uid and the claims' versions: how long to wait after a withdrawal, so that two
// rivals do not meet again.
Duration retreat_delay(const api::Pod& pod, const PodState& state);

}  // namespace dra::allocation
