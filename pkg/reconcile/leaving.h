// How a pod that is held by our gate leaves a claim that bears its proof (docs/design/arbitration.md, P8).
//
// That the gate is there is known from a view of the pod, and lifting it changes the pod, not the claim. So before a
// reservation is taken back, an annotation of the pod announces it: "<claim uid>@<version of the claim>[,...]", written
// by compare-and-swap while the gate is there. Then
//  - every lifting that was decided on an older view of the pod fails;
//  - nobody lifts the gate while the claim is seen at the announced version or an older one;
//  - the reservation is taken back only at exactly the announced version.
// An announcement is never withdrawn; the patch that lifts the gate removes the annotation.
//
// Pure functions.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "pkg/api/core.h"
#include "pkg/api/resource.h"
#include "pkg/reconcile/effect.h"

namespace dra::reconcile {

inline constexpr std::string_view kLeavingAnnotation = "dra-controller-manager/leaving";
// More claims than a pod can have entries for: what is beyond is of claims that are long gone.
inline constexpr size_t kMaxLeaving = 64;

// By uid of the claim: the version at which the pod leaves it.
using Leaving = std::map<std::string, uint64_t>;

// What cannot be read is left out.
Leaving leaving_of(const api::Pod& pod);
// Nothing when the version is not a number.
std::optional<uint64_t> version_of(const api::ResourceClaim& claim);
// Announces these besides those announced before; of one claim the higher version counts.
Write write_leaving(const api::Pod& pod, const Leaving& added);
// Takes the pod out of the claim's reservations, at exactly its version. The last consumer takes the allocation along.
Write write_left(const api::Pod& pod, const api::ResourceClaim& claim);

}  // namespace dra::reconcile
