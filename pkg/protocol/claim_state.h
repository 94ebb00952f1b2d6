// ClaimState: one claim of a pod in the protocol P1 to P8 of docs/design/arbitration.md. Plain values.
#pragma once

#include <memory>

#include "pkg/api/resource.h"

namespace dra::protocol {

// One claim of the pod, as the protocol sees it.
struct ClaimState {
  std::shared_ptr<const api::ResourceClaim> claim;
  bool ours = false;       // we certainly wrote the allocation
  bool unsure = false;     // nobody can tell who wrote it: proven like ours, never withdrawn
  bool proven = false;     // bears the mark of this allocation, and the finalizer
  bool reserved = false;   // for this pod (status.reservedFor), or for its PodGroup, whose claim it is
  bool listed = false;     // this pod is on the claim's list of users (pkg/protocol/users.h)
  bool left = false;       // this pod was, without a gate, and left (P8)
  bool in_stream = false;  // the stream layer has exactly this version
  bool reserved_in_stream = false;
  bool of_group = false;  // a claim of the pod's PodGroup: from the proof on it is reserved for that (P9)
  bool reserved_for_group = false;
  bool allocated() const { return claim->status.allocation.has_value(); }
  bool needs_proof() const { return (ours || unsure) && !proven; }
  // May be used: proven, or not ours to prove (P6).
  bool settled() const { return allocated() && !needs_proof(); }
};

}  // namespace dra::protocol
