// recovery: makes pods anew whose devices cannot be prepared (--recover-failed-prepares=on). docs/design/recovery.md
// has the rules R1 to R6 and why they hold.
//
// Keys are pods that are bound and have not begun. Every reconcile counts anew, from the objects (failures.h). One that
// has failed three times is evicted; the devices that failed are noted for its controller, whose next pods avoid them
// (pkg/protocol/avoided.h). All must outlive the parts. One thread owns it.
#pragma once

#include <deque>

#include "controllers/recovery/options.h"
#include "controllers/recovery/quarantine.h"
#include "pkg/nodes/node_chooser.h"
#include "pkg/protocol/recreations.h"
#include "pkg/reconcile/parts.h"

namespace dra::recovery {

// Evictions of all owners in a minute; the others wait.
inline constexpr size_t kMostAMinute = 60;
// After a second device of one pool failed for pods of an owner, its next pods avoid the node for this long.
inline constexpr Duration kNodeIsAvoided = std::chrono::minutes(10);

struct State : reconcile::State {
  // Evictions that are under way. Lost: each owner may lose Recreations::kAtOnce pods more.
  protocol::Recreations recreations;
  // When pods were evicted in the last minute. Lost: as many more in this one.
  std::deque<WallTime> lately;
  // Lost: devices are given to everybody again, until they fail again.
  Quarantine quarantine;
};

class RecoveryReconciler : public reconcile::Reconciler {
 public:
  RecoveryReconciler(Options options, nodes::NodeChooser& nodes) : options_(options), nodes_(nodes) {}
  reconcile::ReconcileResult reconcile(const reconcile::Key& key, const reconcile::View& view,
                                       reconcile::State& state) const override;

 private:
  const Options options_;
  nodes::NodeChooser& nodes_;
};

class RecoveryEvents : public reconcile::EventHandler {
 public:
  void changed(const reconcile::Change& change, const reconcile::View& view, reconcile::State& state,
               reconcile::EnqueueRequests& out) const override;
};

reconcile::Parts parts(const Options& options, nodes::NodeChooser& nodes);

}  // namespace dra::recovery
