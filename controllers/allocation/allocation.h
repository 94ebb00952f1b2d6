// The allocation controller: allocates claims of waiting pods, proves the allocations, then ungates or binds the pods.
//
// It follows the protocol P1 to P8 of docs/design/arbitration.md: allocate and reserve in one write, prove on the
// stream that nothing is over-committed, mark the proof on the claim by compare-and-swap, and only then ungate or bind
// the pod. Each reconcile derives the pod's state from the objects (protocol.h) and returns the next step.
//
// The inventory and the node chooser are kept up to date by others. What is kept between reconciles is in state.h, and
// a restart may lose all of it. events.h says which pods a change concerns. One thread owns all of these.
#pragma once

#include "controllers/allocation/options.h"
#include "pkg/allocator/allocator.h"
#include "pkg/inventory/inventory.h"
#include "pkg/nodes/node_chooser.h"
#include "pkg/reconcile/parts.h"

namespace dra::allocation {

// The state that it is handed is an allocation::State.
class AllocationReconciler : public reconcile::Reconciler {
 public:
  reconcile::ReconcileResult reconcile(const reconcile::Key& key, const reconcile::View& view,
                                       reconcile::State& state) const override;
};

// All must outlive the parts.
reconcile::Parts parts(Options options, inventory::Inventory& inventory, allocator::Allocator& allocator,
                       nodes::NodeChooser& nodes);

}  // namespace dra::allocation
