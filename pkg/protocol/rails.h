// The rails of a pod's group (pkg/alignment/group_rails.h), read from the objects: which pods count, and their claims.
//
//   const PodRails rails = rails_of(view, pod);
//   if (rails.any) ... rails.read.rules[r].of[m]: of rails.pods[m]
//
// A pod of no group is a group of one. Members that have ended do not count, nor others than the pod asked about whose
// claims are still being made. Pure functions.
#pragma once

#include <string>
#include <vector>

#include "pkg/alignment/group_rails.h"
#include "pkg/api/core.h"
#include "pkg/api/resource.h"
#include "pkg/reconcile/view.h"

namespace dra::protocol {

struct RailPod {
  const api::Pod* pod = nullptr;
  // Those that exist, each once, in the order of the pod's entries; and what the pod calls them.
  std::vector<const api::ResourceClaim*> claims;
  std::vector<alignment::ClaimName> names;
};

struct PodRails {
  bool any = false;           // some annotation asks for rails; else the rest is empty
  std::vector<RailPod> pods;  // in the order that decides among soft rules
  alignment::GroupRails read;
};

// Whether the annotations of the pod, of its PodGroup or of a member ask for rails. Visits the group's pods.
bool asks_for_rails(const reconcile::View& view, const api::Pod& pod);
PodRails rails_of(const reconcile::View& view, const api::Pod& pod);
// The pod's claims, as in RailPod.
RailPod named_claims(const reconcile::View& view, const api::Pod& pod);

}  // namespace dra::protocol
