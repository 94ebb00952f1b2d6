// KeptDevices: devices that are kept for a started group whose member failed or was deleted, until it comes again.
//
// The claim of such a pod is freed before the pod's successor exists (a Job controller waits for 10 s), and whoever
// waits for devices would take them: the group would go on short of a member, perhaps forever. So for
// --gang-hold-timeout pods of the member's priority and below, of other groups or of none, are decided as if these
// devices were still held. A higher priority passes.
//
// Kept in memory: a restart ends it. It ends as well when as many members run as before, when none runs any more (the
// group was deleted, or failed as a whole), and when the group is no group any more. No device is kept that the member
// did not have, and none for longer than the timeout, so that a tenant gains nothing over a pod that runs.
// Not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "pkg/api/core.h"
#include "pkg/api/resource.h"
#include "pkg/base/clock.h"
#include "pkg/inventory/inventory.h"
#include "pkg/reconcile/effect.h"
#include "pkg/reconcile/view.h"

namespace dra::allocation {

class KeptDevices {
 public:
  static constexpr size_t kMost = 256;  // claims; what comes beyond them is not kept

  // The pod ended (`after` null: it is gone). Returns for how long its devices are kept from now on; nothing: they are
  // not, since it was no running member of a started group, has succeeded, or had none of its own.
  std::optional<Duration> note_end(const reconcile::View& view, const api::Pod& before, const api::Pod* after,
                                   Duration timeout);
  bool empty() const { return kept_.empty(); }
  // What a pod of this priority and group (its key, or empty) must leave, of what is not held: as one allocation.
  struct Kept {
    api::AllocationResult devices;
    std::string shown;  // for people, one of the groups; empty: nothing is kept from it
  };
  Kept kept_from(int64_t priority, std::string_view group, WallTime now, const inventory::Inventory& inventory) const;
  // Something is kept for the group.
  bool keeps_for(std::string_view group) const;
  // Forgets what does not count any more. The causes that pods may wait for, which got it: to be woken.
  std::set<reconcile::Cause> tidy(const reconcile::View& view);

 private:
  struct One {
    std::string group;  // key
    std::string shown;
    std::string member;  // uid of the pod
    int64_t priority = 0;
    size_t members = 0;  // that ran while this one did
    api::AllocationResult devices;
    std::set<reconcile::Cause> causes;
    WallTime until{};
  };
  std::map<std::string, One> kept_;  // by uid of the claim
};

// While it lives nobody gets these devices: they count as held. For the length of one decision.
class KeptFromDecision {
 public:
  KeptFromDecision(inventory::Inventory& inventory, const api::AllocationResult& devices);
  ~KeptFromDecision();
  KeptFromDecision(const KeptFromDecision&) = delete;
  KeptFromDecision& operator=(const KeptFromDecision&) = delete;

 private:
  inventory::Inventory& inventory_;
  bool any_;
};

}  // namespace dra::allocation
