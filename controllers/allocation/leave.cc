// P8: a pod that our gate still holds leaves claims that are proven (pkg/reconcile/leaving.h).
#include "controllers/allocation/pod_reconcile.h"
#include "pkg/reconcile/leaving.h"

namespace dra::allocation {

using namespace reconcile;

bool PodReconcile::leave() {
  if (role_ != Role::kGated) return false;
  const Leaving leaving = leaving_of(pod_);
  if (leaving.empty()) return false;
  bool waits = false;
  const auto look_at = [&](const ClaimState& claim) {
    const auto announced = leaving.find(claim.claim->metadata.uid);
    if (announced == leaving.end()) return;
    const uint64_t version = version_of(*claim.claim).value_or(0);
    // A newer version: left, or it changed first, and the announcement holds for nothing any more. At the announced one
    // the pod is reserved, unless the annotation was written by hand.
    if (version > announced->second || (version == announced->second && !claim.reserved)) return;
    waits = true;
    // An older one: the stream brings the key back.
    if (version == announced->second) outcome_.add(write_left(pod_, *claim.claim));
  };
  for (const ClaimState& claim : state_.claims) look_at(claim);
  for (const ClaimState& claim : state_.abandoned) look_at(claim);
  if (outcome_.has_writes()) outcome_.hold = retreat_delay(pod_, state_);
  return waits;
}

bool PodReconcile::announce_leaving(const std::vector<ClaimState>& claims) {
  if (role_ != Role::kGated) return false;
  Leaving added;
  for (const ClaimState& claim : claims)
    if (const auto version = version_of(*claim.claim); version && claim.reserved && claim.settled())
      added.emplace(claim.claim->metadata.uid, *version);
  if (added.empty()) return false;
  outcome_.add(write_leaving(pod_, added));
  return true;
}

bool PodReconcile::drop_abandoned() {
  if (role_ != Role::kGated) return false;
  for (const ClaimState& claim : state_.abandoned) {
    if (!may_withdraw(view_, claim, options_)) continue;
    Write write = write_deallocation(*claim.claim, "withdraw");
    write.release_pod = pod_.metadata.uid;
    outcome_.add(std::move(write));
  }
  return announce_leaving(state_.abandoned) || outcome_.has_writes();
}

}  // namespace dra::allocation
