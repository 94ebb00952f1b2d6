// The writes by which a pod leaves its claims; leaving.h says in which order, and why. Pure functions.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "pkg/api/core.h"
#include "pkg/api/resource.h"
#include "pkg/protocol/leaving.h"
#include "pkg/reconcile/effect.h"

namespace dra::protocol {

// Adds these to the announcements already made; for one claim the higher version counts. Nothing if there are too
// many.
std::optional<reconcile::Write> write_leaving(const api::Pod& pod, const Leaving& added);
// Removes announcements that announce nothing.
reconcile::Write write_void_removed(const api::Pod& pod, const std::set<std::string>& claim_uids);
// Removes the pod from the claim's reservations, at exactly its version; with the last one the allocation is removed
// too, unless `keep_allocation` (a user of the claim has no reservation).
reconcile::Write write_left(const api::Pod& pod, const api::ResourceClaim& claim, bool keep_allocation);
// The same for a pod without a gate, in two writes: its reservation, then the allocation.
reconcile::Write write_left_unbound(const api::Pod& pod, const api::ResourceClaim& claim);
reconcile::Write write_freed_unbound(const api::Pod& pod, const api::ResourceClaim& claim);

}  // namespace dra::protocol
