// KeptDevices: devices kept for a launched group whose member failed or was deleted, until its successor comes.
//
// The claim of such a pod is freed before its successor exists (a Job controller waits for 10 s), and any waiting pod
// would take the devices: the group would run short of a member, perhaps forever. So for --gang-hold-timeout pods of
// the member's priority and below, of other groups or of none, are decided as if these devices were still held. Pods of
// a higher priority may take them.
//
// Kept in memory: a restart ends it. It also ends when as many members run as before, and when none runs any more (the
// group was deleted, or failed as a whole). Only devices that the member had are kept, and none for longer than the
// timeout, so that a tenant gains nothing that a running pod would not have.
// Not thread-safe.
#pragma once

#include <cstdint>
#include <functional>
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

// As whose the devices count for a decision that must leave them; not the uid of a claim.
inline constexpr std::string_view kKeptForGroups = "devices-kept-for-groups";

class KeptDevices {
 public:
  static constexpr size_t kMost = 256;  // claims; those beyond are not kept
  // Each costs every decision a look-up. A namespace has at most half of them.
  static constexpr size_t kMostDevices = 1'024;

  // The pod ended (`after` null: it is gone). Returns how long its devices are kept from now on. Nothing: not kept,
  // because it was no running member of a launched group, has succeeded, or had no claim of its own.
  std::optional<Duration> note_end(const reconcile::View& view, const api::Pod& before, const api::Pod* after,
                                   Duration timeout);
  bool empty() const { return kept_.empty(); }
  // The unheld devices that a pod of this priority and group (its key, or empty) must leave, as one allocation.
  struct Kept {
    api::AllocationResult devices;
    std::string shown;  // in messages: one of the groups; empty: nothing is kept from the pod
    // Beside these: what other pods were promised (promised_devices.h).
    api::AllocationResult promised;
  };
  Kept kept_from(int64_t priority, std::string_view group, WallTime now, const inventory::Inventory& inventory) const;
  // True when something is kept for the group.
  bool keeps_for(std::string_view group) const;
  // Forgets what has been kept for long enough, or what is kept for the pod's group if as many of its members run as
  // before, or none. Return the causes that the devices satisfy, to be unparked.
  std::set<reconcile::Cause> drop_expired(WallTime now);
  std::set<reconcile::Cause> drop_settled(const reconcile::View& view, const api::Pod& pod);
  // The running members of a large group are not counted again at each change of one of them. drop_settled() did
  // without a count: call drop_due() after this time.
  std::optional<Duration> recount_in(const reconcile::View& view, const api::Pod& pod);
  std::set<reconcile::Cause> drop_due(const reconcile::View& view);

 private:
  struct One {
    std::string group;  // key
    std::string ns;
    std::string shown;
    int64_t priority = 0;
    size_t members = 0;  // that ran while this one did
    api::AllocationResult devices;
    std::set<reconcile::Cause> causes;
    WallTime until{};
  };
  struct Count {
    size_t running = 0;
    WallTime at{};
    bool outdated = false;  // a member changed since
    bool awaited = false;   // recount_in() has announced the next count
  };
  std::set<reconcile::Cause> drop_if(const std::function<bool(const One&)>& over);
  std::set<reconcile::Cause> drop_of_group(std::string_view group, size_t running);
  size_t running_members(const reconcile::View& view, const std::string& group);
  bool is_recent(const reconcile::View& view, const std::string& group, const Count& count) const;

  bool within_limits(const api::ResourceClaim& claim) const;

  std::map<std::string, One> kept_;      // by uid of the claim
  std::map<std::string, Count> counts_;  // of large groups, by key
};

// While it lives the devices count as held, so nobody is allocated them. Lives for one decision.
class KeptFromDecision {
 public:
  KeptFromDecision(inventory::Inventory& inventory, const KeptDevices::Kept& kept);
  ~KeptFromDecision();
  KeptFromDecision(const KeptFromDecision&) = delete;
  KeptFromDecision& operator=(const KeptFromDecision&) = delete;

 private:
  inventory::Inventory& inventory_;
  bool kept_, promised_;
};

}  // namespace dra::allocation
