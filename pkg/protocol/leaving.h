// How a pod that still has our gate, or that is ours to bind and unbound, leaves a claim that bears its proof
// (docs/design/arbitration.md, P8).
//
// Only a view of the pod shows that it has not started, and lifting the gate or binding it changes the pod, not the
// claim. So before its reservation is withdrawn, an annotation of the pod announces it: "<claim uid>@<version of the
// claim>[,...]", written by compare-and-swap while the gate is there, or the pod unbound. Then
//  - every attempt to lift the gate or to bind that was decided on an older view of the pod fails;
//  - nobody lifts the gate or binds while the claim is seen at the announced version or an older one;
//  - the pod is taken off the list of the claim's users (users.h) only at exactly the announced version.
// A reservation of a pod that is not on the list is not in use and is withdrawn at any version. The leaving of a gated
// pod that is the last consumer removes the allocation too: one write then does both. Without a gate others may bind
// the pod at any moment: then list, reservation and allocation go one after the other (users.h).
//
// An announcement is never withdrawn, since nobody knows how old the view is that another manager decides on; the patch
// that lifts the gate removes the annotation, and on a bound pod nobody reads it. One with a version that the server
// has not reached (written by another client) announces nothing, fences nothing, and is removed.
//
// Here is what an announcement says; leaving_writes.h makes and removes it. Pure functions.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "pkg/api/core.h"
#include "pkg/api/resource.h"

namespace dra::protocol {

inline constexpr std::string_view kLeavingAnnotation = "dra-controller-manager/leaving";
// The limit of announcements: a pod that left this many claims keeps the others until it is deleted.
inline constexpr size_t kMaxLeaving = 64;

// By uid of the claim: the version at which the pod leaves it.
using Leaving = std::map<std::string, uint64_t>;

// Unreadable entries are left out.
Leaving leaving_of(const api::Pod& pod);
// Nothing if the version is not a number.
std::optional<uint64_t> version_of(const api::ResourceClaim& claim);

}  // namespace dra::protocol
