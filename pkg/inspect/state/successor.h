// Successor: the pod that a controller creates in place of one that is gone.
//
//   api::Pod next = successor_of(gone, claims_used_by(objects, gone), template_for(objects, gone));
//   next.metadata.name = "web-new";
//
// It is the old pod as it was created: without a node, a status, a uid and what the manager wrote into it (the node
// requirements that lifting the gate adds, the gate itself, marks). If the template of its owner is known, the
// template's fields win; what admission adds to a pod (labels, tolerations, containers, default requests, the priority)
// stays. Pods of custom resources, and snapshots, have no template.
//
// The pin is removed by pkg/protocol/pin.h. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "pkg/inspect/state/objects.h"

namespace dra::inspect {

// The gate at which pods wait for the manager in gate mode.
inline constexpr std::string_view kOurGate = "dra-controller-manager/allocation";

using UsedClaims = std::vector<std::shared_ptr<const api::ResourceClaim>>;

// The claims of the pod that are known, also that for its extended resources; others are left out.
UsedClaims claims_used_by(const Objects& objects, const api::Pod& pod);

// `claims`: those of `gone`. `from` may be null. The name stays, for the caller to change; uid and time are empty.
api::Pod successor_of(const api::Pod& gone, const UsedClaims& claims, const OwnerTemplate* from);

// A kind whose objects create pods from spec.template and leave the node to a scheduler.
struct OwnerKind {
  std::string_view group, version, plural, kind;
};
// Null: not such a kind, or of an API version that is not read.
const OwnerKind* owner_kind_of(const api::OwnerReference& owner);

// An owner that a caller may read and add.
struct OwnerToRead {
  api::OwnerReference owner;
  std::string ns;
};
// Adds the template of an owner, from the object as a server sends it. Errors: the text is no such object, or not of
// this owner.
Result<void> add_owner(Objects& objects, const OwnerToRead& owner, std::string_view text);
// Null: not known, or a StatefulSet's, and this pod is below its partition, which means it comes from an older one.
const OwnerTemplate* template_for(const Objects& objects, const api::Pod& pod);

}  // namespace dra::inspect
