// AllocationEvents: which pods a change concerns, and which parked pods it may help (causes.h).
//
// The state that it is handed is an allocation::State. It changes there what follows the events: the leaders of groups,
// what is kept for groups, and the evictions under way.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "controllers/allocation/state.h"
#include "pkg/reconcile/event_handler.h"

namespace dra::allocation {

class AllocationEvents : public reconcile::EventHandler {
 public:
  void changed(const reconcile::Change& change, const reconcile::View& view, reconcile::State& state,
               reconcile::EnqueueRequests& out) const override;
  std::vector<reconcile::Key> wait_with(const reconcile::Key& key, const reconcile::View& view,
                                        reconcile::State& state) const override;
  std::optional<reconcile::Write> show_outage(const reconcile::Key& key, const reconcile::View& view,
                                              reconcile::State& state, const std::string& sentence) const override;
};

}  // namespace dra::allocation
