// Reports what is wrong with devices in use: one event on the claim (or, for what kubelet reports, on the pod) whenever
// something changes, and a count of troubles. It never frees or evicts anything. Pure.
#pragma once

#include "pkg/inventory/inventory.h"
#include "pkg/reconcile/effect.h"
#include "pkg/reconcile/view.h"

namespace dra::lifecycle {

// A device or driver must be missing for this long: drivers withdraw their slices while they restart.
inline constexpr Duration kTroubleLasts = std::chrono::seconds(60);

// The claim is allocated and reserved; its pods are included. Adds no write.
void report_device_troubles(const reconcile::View& view, const inventory::Inventory& inventory,
                            const api::ResourceClaim& claim, reconcile::ReconcileResult& outcome);

}  // namespace dra::lifecycle
