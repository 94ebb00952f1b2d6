// P8: a pod that our gate still holds, or that is ours to bind, leaves proven claims (pkg/protocol/leaving.h).
#include <algorithm>

#include "controllers/allocation/pod/pod_reconcile.h"
#include "pkg/protocol/leaving.h"
#include "pkg/protocol/leaving_writes.h"
#include "pkg/protocol/users.h"
#include "pkg/protocol/writes.h"

namespace dra::allocation {

using namespace reconcile;

bool PodReconcile::leave() {
  if (!may_leave()) return false;
  const Leaving leaving = leaving_of(pod_);
  if (leaving.empty()) return false;
  bool waits = false;
  std::set<std::string> void_announcements;
  const auto look_at = [&](const ClaimState& claim) {
    const auto announced = leaving.find(claim.claim->metadata.uid);
    if (announced == leaving.end()) return;
    const uint64_t version = version_of(*claim.claim).value_or(0);
    // A newer version: the pod left the claim, or the claim changed first and the announcement no longer counts. At the
    // announced version the pod is reserved or listed, unless the annotation was written by hand.
    const bool has_part = claim.allocated() && (claim.reserved || claim.listed);
    if (version > announced->second || (version == announced->second && !has_part)) return;
    waits = true;
    if (version == announced->second) return leave_claim(claim);
    // An older version: our view is behind, or the annotation was written by hand. A live GET decides.
    const Ref ref = ref_of(*claim.claim);
    if (view_.live_presence(ref) == Presence::kUnknown) outcome_.add(LiveGet{ref});
    if (view_.live_presence(ref) == Presence::kPresent) void_announcements.insert(claim.claim->metadata.uid);
  };
  for (const ClaimState& claim : state_.claims) look_at(claim);
  for (const ClaimState& claim : state_.abandoned) look_at(claim);
  if (!void_announcements.empty()) remove_void(void_announcements);
  if (outcome_.has_writes()) outcome_.min_interval = retreat_delay(pod_, state_);
  return waits;
}

void PodReconcile::leave_claim(const ClaimState& claim) {
  if (role_ == Role::kToBind) return leave_without_gate(claim);
  const auto& consumers = claim.claim->status.reserved_for;
  const bool last = std::all_of(consumers.begin(), consumers.end(),
                                [&](const auto& consumer) { return consumer.uid == pod_.metadata.uid; });
  // The allocation stays for a pod that was ungated with it and that kube-scheduler took out of reservedFor.
  const Fate others = last ? fate_of_users(view_, *claim.claim, pod_.metadata.uid, outcome_) : Fate::kAlive;
  if (others == Fate::kUnsure) return;
  if (others == Fate::kAlive && claim.listed) return void(outcome_.add(write_unlisted(pod_, *claim.claim)));
  outcome_.add(write_left(pod_, *claim.claim, others == Fate::kAlive));
}

void PodReconcile::leave_without_gate(const ClaimState& claim) {
  const api::ResourceClaim& object = *claim.claim;
  if (claim.listed || !claim.left) return void(outcome_.add(write_unlisted(pod_, object, true)));
  if (claim.reserved) return void(outcome_.add(write_left_unbound(pod_, object)));
  // Nobody else has it. If others bound this pod before its reservation went, the GETs of fate_of_users() show that.
  if (!object.status.reserved_for.empty() || fate_of_users(view_, object, "", outcome_) != Fate::kGone) return;
  outcome_.add(write_freed_unbound(pod_, object));
}

void PodReconcile::remove_void(const std::set<std::string>& claim_uids) {
  Write write = write_void_removed(pod_, claim_uids);
  write.success_event =
      Event{ref_of(pod_),
            true,
            "AnnouncementIgnored",
            "Allocate",
            "annotation " + std::string(kLeavingAnnotation) + " named a version of claim " + *claim_uids.begin() +
                " that does not exist yet; only this manager writes the annotation. The entry is "
                "removed; install the admission policies to refuse such writes",
            ""};
  outcome_.add(std::move(write));
}

bool PodReconcile::leave_unlisted(const std::vector<ClaimState>& claims) {
  if (!may_leave()) return false;
  const size_t before = outcome_.effects.size();
  for (const ClaimState& claim : claims) {
    const bool may_free = role_ == Role::kToBind && claim.left;
    if (claim.listed || !claim.settled() || !(claim.reserved || may_free)) continue;
    leave_claim(claim);
  }
  return outcome_.effects.size() > before;
}

bool PodReconcile::announce_leaving(const std::vector<ClaimState>& claims) {
  if (!may_leave()) return false;
  Leaving added;
  for (const ClaimState& claim : claims)
    if (const auto version = version_of(*claim.claim); version && claim.listed && claim.settled())
      added.emplace(claim.claim->metadata.uid, *version);
  if (added.empty()) return false;
  std::optional<Write> write = write_leaving(pod_, added);
  if (!write) {
    complain("FailedAllocation",
             "the pod left " + std::to_string(kMaxLeaving) +
                 " claims already and keeps the others, which it cannot use: delete the pod",
             "leaving");
    return false;
  }
  outcome_.add(std::move(*write));
  return true;
}

bool PodReconcile::drop_abandoned() {
  if (!may_leave()) return false;
  for (const ClaimState& claim : state_.abandoned) {
    if (!may_withdraw(view_, claim, options_)) continue;
    Write write = write_deallocation(*claim.claim, "withdraw");
    write.release_pod = pod_.metadata.uid;
    outcome_.add(std::move(write));
  }
  const bool left = leave_unlisted(state_.abandoned);
  return announce_leaving(state_.abandoned) || left || outcome_.has_writes();
}

}  // namespace dra::allocation
