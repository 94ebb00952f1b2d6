// Kept devices: an annotated claim keeps its allocation while no pod uses it (docs/design/keep.md): one that users made
// for its next pod, one that was made from a template for the next pod of its pod's controller.
//
//   dra-controller-manager/keep-devices: 10m
//
// A consumer of ours in status.reservedFor does it: kube-controller-manager takes an allocation away with the last
// consumer, and never removes one of a kind that it does not know. The entry's name is the state, so a restart loses
// nothing, and only who may write the status can change it:
//
//   in-use-priority-100                pods are there; 100: the highest priority among them
//   until-1790000000-priority-100      the last one is gone; kept until then (seconds since 1970)
//
// Its uid says for whom: "kept-for-" and the controller's uid, or "kept-" and the claim's. An API server takes no new
// entry into a claim that is being deleted, as a claim from a template is with its pod: its entry stays "in use", and
// its time begins with the deletion.
//
// Everybody who asks whether a claim has consumers asks has_users(): the entry is none. Pure.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pkg/api/core.h"
#include "pkg/api/resource.h"
#include "pkg/base/clock.h"
#include "pkg/base/timestamp.h"
#include "pkg/reconcile/view.h"

namespace dra::protocol {

inline constexpr std::string_view kKeepAnnotation = "dra-controller-manager/keep-devices";
inline constexpr std::string_view kKeepGroup = "dra-controller-manager";
inline constexpr std::string_view kKeepResource = "kept-devices";
inline constexpr Duration kShortestKeep = std::chrono::seconds(1);
inline constexpr Duration kLongestKeep = std::chrono::hours(24);

// A number and a unit: "90s", "10m", "24h". Nothing: another text, or not within the bounds.
std::optional<Duration> read_keep(std::string_view text);
// What is wrong with the value, and what to write; empty: nothing.
std::string why_not_kept(std::string_view text);
// The claim bears the annotation, whatever its value.
bool asks_to_keep(const api::ResourceClaim& claim);
// Made by a user: no pod and no PodGroup owns it. Claims made from a template end with their pod.
bool outlives_pods(const api::ResourceClaim& claim);
// How long to keep the claim's devices; nothing: it does not ask for it, not readably, or belongs to a group.
std::optional<Duration> keeps_for(const api::ResourceClaim& claim);

struct Keep {
  std::optional<Timestamp> until;  // none: in use
  int64_t priority = 0;            // of the pods; 0 where it is not known
  // For a claim that ends with its pod: the uid of the pod's controller, for whose next pod the devices are.
  std::string owner{};
  bool operator==(const Keep&) const = default;
};

bool is_keep_reference(const api::ResourceClaimConsumerReference& consumer);
// The state of the claim's entry; nothing: it has none. A name that cannot be read counts as in use, with priority 0.
std::optional<Keep> keep_of(const api::ResourceClaim& claim);
api::ResourceClaimConsumerReference keep_reference(const api::ResourceClaim& claim, const Keep& keep);

// Until when the devices of a claim that was made from a template, and is being deleted, are kept without a pod.
std::optional<Timestamp> end_of_deleted(const api::ResourceClaim& claim);
// The pod that owns the claim, if it is known; null: it is not, or no pod does.
const api::Pod* known_pod_owner(const reconcile::View& view, const api::ResourceClaim& claim);
// Of a claim that does not outlive its pod: the uid of the pod's controller, as the entry has it or, while the pod is
// known, the pod. Empty: nobody makes a next pod, or nobody knows.
std::string owner_to_keep_for(const reconcile::View& view, const api::ResourceClaim& claim);
// The pod is a later one of the same controller.
bool is_next_pod(const api::Pod& pod, const api::ResourceClaim& claim, const Keep& keep);

// The claim is reserved for somebody: a pod, a PodGroup, or a consumer that this program does not know.
bool has_users(const api::ResourceClaim& claim);
// Devices are kept, and no pod uses them: in the state "until", allocated, without users.
bool is_only_kept(const api::ResourceClaim& claim);

// For a list of consumers that is about to be written: our entry in it, if it has one, says "in use", with the highest
// priority of its pods that the view knows. Without pods it stays as it is.
void note_use(const reconcile::View& view, const api::ResourceClaim& claim,
              std::vector<api::ResourceClaimConsumerReference>& consumers);

// A note about a claim that is only kept: a pod of a higher priority fits nowhere without its devices, or the next pod
// of its owner takes them over. The controller allocation makes it, lifecycle frees the claim. It counts for this long.
inline constexpr std::string_view kTakenNote = "kept-devices-taken";
inline constexpr Duration kTakenCounts = std::chrono::seconds(10);
std::string taken_note(const api::Pod& pod);
// Who takes the devices of a claim that is kept so, while the pod still waits: null: nobody.
const api::Pod* taker_of(const reconcile::View& view, const api::ResourceClaim& claim, const Keep& keep);

// The claim, without our entry if it has one: for who judges whether it is free once its pods are gone.
std::shared_ptr<const api::ResourceClaim> without_keep(std::shared_ptr<const api::ResourceClaim> claim);

// "kept until 2026-11-29T02:10:00Z", "kept when its pods end"
std::string keep_words(const Keep& keep);

}  // namespace dra::protocol
