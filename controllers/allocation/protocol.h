// The state of a pod in the protocol P1 to P8 of docs/design/arbitration.md, derived from the objects alone. Pure.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "controllers/allocation/options.h"
#include "pkg/api/core.h"
#include "pkg/api/resource.h"
#include "pkg/protocol/claim_state.h"
#include "pkg/protocol/extended.h"
#include "pkg/reconcile/view.h"

namespace dra::allocation {

// What the pod is to us.
enum class Role {
  kNone,       // not ours, or nothing left to do: finished, being deleted, gates of others left
  kGated,      // our gate is the last one left (when gates are released: our gate is there)
  kToBind,     // bind mode, one of our scheduler names, no gates left, not bound
  kBoundBare,  // bind mode, bound already: its claims may still need an allocation (P7)
  kExplain,    // observe mode: an unbound pod with claims, or with our gate
};
// True when the pod's spec.schedulerName is one of ours.
bool is_ours_to_bind(const api::Pod& pod, const Options& options);
// Our gate is there, whatever else is.
bool carries_our_gate(const api::Pod& pod);
Role role_of(const api::Pod& pod, const Options& options);

// A claim made from a template that does not exist. A few seconds of that are ordinary.
struct MissingClaim {
  std::string entry;
  std::string name;       // as the pod's status names it; empty: it was never made
  bool of_group = false;  // a claim of the pod's PodGroup
  std::string id() const { return entry + " " + name; }
};
// The topic of the note of a missing claim (its id), made when it is seen to be missing.
inline constexpr std::string_view kMissingNote = "claim-missing";
// How long it may be missing before an event says so.
Duration ordinary_absence(const MissingClaim& missing);

struct PodState {
  std::vector<protocol::ClaimState>
      claims;  // those that the pod's entries need, without duplicates, in the order of the entries
  // Not empty: one sentence: a claim is missing, being deleted or another pod's. Then `claims` is incomplete.
  std::string waits_for;
  // The wait ends by an ordinary change of the pod or its claims, so it is not reported.
  bool ordinary_wait = false;
  // The first one, of a pod that is not bound; also when the wait is not ordinary any more.
  std::optional<MissingClaim> missing;
  // Claims that are reserved for the pod (or list it, or that it is leaving) but useless to it: being deleted, or no
  // longer named by it.
  std::vector<protocol::ClaimState> abandoned;
  // The pod's status does not name all of its claims yet, so the pod must not be ungated or bound.
  bool unpublished = false;
  // The claim made for the pod's extended resources (pkg/protocol/extended_claim.h), if any: the last of `claims`.
  std::shared_ptr<const api::ResourceClaim> extended;

  bool all_allocated() const;
  bool all_settled() const;
};

// `extended`: the resources that the pod requests and a DeviceClass provides.
PodState derive_state(const reconcile::View& view, const api::Pod& pod, const Options& options,
                      const std::vector<protocol::ExtendedResource>& extended = {});

// P5: true when we may withdraw the claim's allocation: it is ours and unmarked, and every pod it is reserved for is
// known to be gated by us, or unbound and ours to bind.
bool may_withdraw(const reconcile::View& view, const protocol::ClaimState& state, const Options& options);

// One sentence: to which node an allocated claim that we may not withdraw pins the pod, why, and what frees it. Empty
// when the allocation can be used on every node.
std::string why_pinned(const api::Pod& pod, const protocol::ClaimState& state);

// Adds to `out` the node requirements of an allocation's node selector. False when the selector has several terms,
// which one term cannot express.
bool single_term(const api::AllocationResult& allocation, api::NodeSelectorTerm& out);

// The first few devices, for messages: "driver/pool/device".
std::string devices_of(const std::vector<api::AllocationResult>& allocations);

// How long to wait after a withdrawal: 20 to 220 ms, spread by the pod's uid and the claims' versions so that two
// rivals do not collide again.
Duration retreat_delay(const api::Pod& pod, const PodState& state);

}  // namespace dra::allocation
