// Notes on claims what the devices are that other programs allocated (kube-scheduler, an older manager), so that they
// count when their driver withdraws them: docs/design/identity.md, rule 7. Pure but for `lately`.
#pragma once

#include <deque>

#include "pkg/base/clock.h"
#include "pkg/inventory/inventory.h"
#include "pkg/reconcile/effect.h"
#include "pkg/reconcile/view.h"

namespace dra::lifecycle {

// Claims whose devices' identities are noted in a minute, so that a cluster full of others' allocations does not delay
// what pods wait for; the others wait.
inline constexpr size_t kMostNotesAMinute = 600;

// At most one write, lifecycle/note-identities: the annotation as inventory::identities_to_note() has it, or without
// devices its removal. Nothing while --identity-annotations is off, and nothing of an allocation that may yet be
// withdrawn. Of more than kMostNotesAMinute a minute the claim is reconciled again later. `lately`: when notes were
// written.
void note_identities(const reconcile::View& view, const inventory::Inventory& inventory,
                     const api::ResourceClaim& claim, std::deque<WallTime>& lately, reconcile::ReconcileResult& out);

}  // namespace dra::lifecycle
