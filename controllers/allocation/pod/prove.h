// P2, P3: proves the pod's allocations, that is, marks them once the watch shows them and nothing is over-committed.
#pragma once

#include "controllers/allocation/pod/context.h"
#include "pkg/protocol/rails.h"

namespace dra::allocation {

// Of a pod whose claims are all allocated, or of which some are to be proven before an uninstall. Judges the node once
// more, runs the bind steps, and writes the marks; else waits, or frees everything.
void prove_claims(const PodContext& context, reconcile::ReconcileResult& out);
// G9: the rails of the pod's group hold over all members that hold devices. Else the pod waits, or withdraws what is
// unmarked, if the others were first.
bool rails_hold(const PodContext& context, reconcile::ReconcileResult& out);
// P3: one write for each claim that needs a mark.
// `rails`: of the pod's group; null: they are read if somebody asks for rails.
void add_marks(const PodContext& context, reconcile::ReconcileResult& out, const protocol::PodRails* rails = nullptr);

}  // namespace dra::allocation
