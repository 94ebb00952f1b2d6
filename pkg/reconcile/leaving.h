// How a pod that is held by our gate leaves a claim that bears its proof (docs/design/arbitration.md, P8).
//
// That the gate is there is known from a view of the pod, and lifting it changes the pod, not the claim. So before a
// reservation is taken back, an annotation of the pod announces it: "<claim uid>@<version of the claim>[,...]", written
// by compare-and-swap while the gate is there. Then
//  - every lifting that was decided on an older view of the pod fails;
//  - nobody lifts the gate while the claim is seen at the announced version or an older one;
//  - the pod is taken off the list of the claim's users (users.h) only at exactly the announced version.
// A reservation of a pod that is not on the list is not in use and is taken back at any version. The last consumer
// takes the allocation along, in one write with the first of these two.
//
// An announcement is never withdrawn, since nobody knows how old the view is on which another manager decides; the
// patch that lifts the gate removes the annotation. One that names a version which the server has not reached (somebody
// else wrote it) announces nothing, fences nothing, and is removed.
//
// Pure functions.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "pkg/api/core.h"
#include "pkg/api/resource.h"
#include "pkg/reconcile/effect.h"

namespace dra::reconcile {

inline constexpr std::string_view kLeavingAnnotation = "dra-controller-manager/leaving";
// More are not announced: a pod that left so many claims keeps what it has until it is deleted.
inline constexpr size_t kMaxLeaving = 64;

// By uid of the claim: the version at which the pod leaves it.
using Leaving = std::map<std::string, uint64_t>;

// What cannot be read is left out.
Leaving leaving_of(const api::Pod& pod);
// Nothing when the version is not a number.
std::optional<uint64_t> version_of(const api::ResourceClaim& claim);
// Announces these besides those announced before; of one claim the higher version counts. Nothing when they are too
// many.
std::optional<Write> write_leaving(const api::Pod& pod, const Leaving& added);
// Removes announcements that announce nothing.
Write write_void_removed(const api::Pod& pod, const std::set<std::string>& claim_uids);
// Takes the pod out of the claim's reservations, at exactly its version; with the last one the allocation goes, unless
// it is kept for a user of the claim without a reservation.
Write write_left(const api::Pod& pod, const api::ResourceClaim& claim, bool keep_allocation);

}  // namespace dra::reconcile
