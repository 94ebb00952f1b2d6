#include "controllers/allocation/pod/leave.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "controllers/allocation/pod/report.h"
#include "pkg/protocol/group_claims.h"
#include "pkg/protocol/keep.h"
#include "pkg/protocol/leaving.h"
#include "pkg/protocol/leaving_writes.h"
#include "pkg/protocol/pod_claims.h"
#include "pkg/protocol/users.h"
#include "pkg/protocol/writes.h"

namespace dra::allocation {

using namespace protocol;
using namespace reconcile;

namespace {

// P8 is for pods that have not started and that a write of ours starts.
bool may_leave(const PodContext& context) {
  return context.role == Role::kGated || context.role == Role::kToBind;
}

// The same as leave_claim() for a pod that others may bind at any moment: list, reservation, live GET, allocation.
void leave_without_gate(const PodContext& context, const protocol::ClaimState& claim, ReconcileResult& out) {
  const api::ResourceClaim& object = *claim.claim;
  if (claim.listed || !claim.left) return void(out.add(write_unlisted(context.pod, object, true)));
  if (claim.reserved) return void(out.add(write_left_unbound(context.pod, object)));
  // Nobody else has it. If others bound this pod before its reservation went, the GETs of fate_of_users() show that.
  if (has_users(object) || fate_of_users(context.view, object, "", out) != Fate::kGone) return;
  out.add(write_freed_unbound(context.pod, object));
}

// A claim of the pod's PodGroup (P9): off the list; then, when nobody is listed and no pod of the group has started,
// the reservation of the group goes. What frees the claim then is what frees any claim without users.
void leave_group_claim(const PodContext& context, const protocol::ClaimState& claim, ReconcileResult& out) {
  const api::ResourceClaim& object = *claim.claim;
  const bool to_bind = context.role == Role::kToBind;
  if (claim.listed || (to_bind && !claim.left)) return void(out.add(write_unlisted(context.pod, object, to_bind)));
  for (const User& user : users_of(object))
    if (!user.left && fate_of(context.view, object.metadata.ns, user, out) != Fate::kGone) return;
  for (const api::Pod* pod : context.view.pods_of_claim(object.metadata.key())) {
    const Role role = role_of(*pod, context.tools.options);
    if (!pod->done() && role != Role::kGated && role != Role::kToBind) return;
  }
  std::vector<api::ResourceClaimConsumerReference> rest = object.status.reserved_for;
  std::erase_if(rest, [&](const auto& consumer) {
    return is_group_reference(consumer) || consumer.uid == context.pod.metadata.uid;
  });
  Write write = write_reservations(object, rest, to_bind ? "leave-unbound" : "leave");
  write.release_pod = context.pod.metadata.uid;
  out.add(std::move(write));
}

// One write: takes the pod off the claim's list of users, else out of its reservations; the last user does both.
void leave_claim(const PodContext& context, const protocol::ClaimState& claim, ReconcileResult& out) {
  if (claim.reserved_for_group) return leave_group_claim(context, claim, out);
  if (context.role == Role::kToBind) return leave_without_gate(context, claim, out);
  const std::string& uid = context.pod.metadata.uid;
  const auto& consumers = claim.claim->status.reserved_for;
  const bool last = std::all_of(consumers.begin(), consumers.end(), [&](const auto& consumer) {
    return consumer.uid == uid || is_keep_reference(consumer);
  });
  // The allocation stays for a pod that was ungated with it and that kube-scheduler took out of reservedFor.
  const Fate others = last ? fate_of_users(context.view, *claim.claim, uid, out) : Fate::kAlive;
  if (others == Fate::kUnsure) return;
  if (others == Fate::kAlive && claim.listed) return void(out.add(write_unlisted(context.pod, *claim.claim)));
  out.add(write_left(context.pod, *claim.claim, others == Fate::kAlive));
}

void remove_void(const PodContext& context, const std::set<std::string>& claim_uids, ReconcileResult& out) {
  Write write = write_void_removed(context.pod, claim_uids);
  write.success_event =
      Event{ref_of(context.pod),
            true,
            "AnnouncementIgnored",
            "Allocate",
            "annotation " + std::string(kLeavingAnnotation) + " named a version of claim " + *claim_uids.begin() +
                " that does not exist yet; only this manager writes the annotation. The entry is "
                "removed; install the admission policies to refuse such writes",
            ""};
  out.add(std::move(write));
}

}  // namespace

bool leave_announced(const PodContext& context, ReconcileResult& out) {
  if (!may_leave(context)) return false;
  const Leaving leaving = leaving_of(context.pod);
  if (leaving.empty()) return false;
  bool waits = false;
  std::set<std::string> void_announcements;
  const auto follow_announcement = [&](const protocol::ClaimState& claim) {
    const auto announced = leaving.find(claim.claim->metadata.uid);
    if (announced == leaving.end()) return;
    const uint64_t version = version_of(*claim.claim).value_or(0);
    // A newer version: the pod left the claim, or the claim changed first and the announcement no longer counts. At the
    // announced version the pod is reserved or listed, unless the annotation was written by hand.
    const bool has_part = claim.allocated() && (claim.reserved || claim.listed);
    if (version > announced->second || (version == announced->second && !has_part)) return;
    waits = true;
    if (version == announced->second) return leave_claim(context, claim, out);
    // An older version: our view is behind, or the annotation was written by hand. A live GET decides.
    const Ref ref = ref_of(*claim.claim);
    if (context.view.live_presence(ref) == Presence::kUnknown) out.add(LiveGet{ref});
    if (context.view.live_presence(ref) == Presence::kPresent) void_announcements.insert(claim.claim->metadata.uid);
  };
  for (const protocol::ClaimState& claim : context.state.claims) follow_announcement(claim);
  for (const protocol::ClaimState& claim : context.state.abandoned) follow_announcement(claim);
  if (!void_announcements.empty()) remove_void(context, void_announcements, out);
  if (out.has_writes()) out.min_interval = retreat_delay(context.pod, context.state);
  return waits;
}

bool leave_unlisted(const PodContext& context, const std::vector<protocol::ClaimState>& claims, ReconcileResult& out) {
  if (!may_leave(context)) return false;
  const size_t before = out.effects.size();
  for (const protocol::ClaimState& claim : claims) {
    const bool may_free = context.role == Role::kToBind && claim.left;
    if (claim.listed || !claim.settled() || !(claim.reserved || may_free)) continue;
    leave_claim(context, claim, out);
  }
  return out.effects.size() > before;
}

bool announce_leaving(const PodContext& context, const std::vector<protocol::ClaimState>& claims,
                      ReconcileResult& out) {
  if (!may_leave(context)) return false;
  Leaving added;
  for (const protocol::ClaimState& claim : claims)
    if (const auto version = version_of(*claim.claim); version && claim.listed && claim.settled())
      added.emplace(claim.claim->metadata.uid, *version);
  if (added.empty()) return false;
  std::optional<Write> write = write_leaving(context.pod, added);
  if (!write) {
    complain(context,
             {"FailedAllocation",
              "the pod left " + std::to_string(kMaxLeaving) +
                  " claims already and keeps the others, which it cannot use: delete the pod",
              "leaving"},
             out);
    return false;
  }
  out.add(std::move(*write));
  return true;
}

bool drop_abandoned(const PodContext& context, ReconcileResult& out) {
  if (!may_leave(context)) return false;
  const std::vector<protocol::ClaimState>& abandoned = context.state.abandoned;
  for (const protocol::ClaimState& claim : abandoned) {
    if (!may_withdraw(context.view, claim, context.tools.options)) continue;
    Write write = write_deallocation(*claim.claim, "withdraw");
    write.release_pod = context.pod.metadata.uid;
    out.add(std::move(write));
  }
  const bool left = leave_unlisted(context, abandoned, out);
  return announce_leaving(context, abandoned, out) || left || out.has_writes();
}

}  // namespace dra::allocation
