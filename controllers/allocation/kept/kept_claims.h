// KeptClaims: the claims that keep devices which no pod uses (pkg/protocol/keep.h), and what pods are about to take of
// them (docs/design/keep.md).
//
// Which claims is derived from the claims as the events show them; a restart loses nothing. What a pod is about to take
// is kept from other pods of its priority and below for kHold, so that claims are not freed in vain; lost, another pod
// may be quicker. Not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "pkg/api/core.h"
#include "pkg/api/resource.h"
#include "pkg/base/clock.h"
#include "pkg/inventory/inventory.h"
#include "pkg/reconcile/effect.h"
#include "pkg/reconcile/view.h"

namespace dra::allocation {

class KeptClaims {
 public:
  static constexpr size_t kMostSearched = 256;  // claims set aside for one search
  static constexpr size_t kMostHolds = 64;      // pods
  static constexpr Duration kHold = std::chrono::seconds(20);

  // A claim came, changed or went (`after` null). Returns the causes to be unparked: since now nobody uses the devices,
  // pods of a higher priority may take them.
  std::set<reconcile::Cause> claim_changed(const api::ResourceClaim* before, const api::ResourceClaim* after);
  bool empty() const { return claims_.empty(); }
  // Those of a lower priority, the highest of these first, as the view has them now; at most kMostSearched, of the
  // lowest priorities.
  std::vector<std::shared_ptr<const api::ResourceClaim>> below(const reconcile::View& view, int64_t priority) const;

  // Claims of pods of this controller (its uid), with their entry, whether or not a pod uses them still.
  bool keeps_for_owner(std::string_view owner) const { return of_owner_.contains(owner); }
  std::vector<std::shared_ptr<const api::ResourceClaim>> of_owner(const reconcile::View& view,
                                                                  std::string_view owner) const;

  void hold(const api::Pod& pod, const std::vector<api::AllocationResult>& allocations, WallTime now);
  // The same, of devices that the pod takes over as they are: by the claim's name in the pod.
  using ByName = std::map<std::string, api::AllocationResult, std::less<>>;
  // False: devices are held for too many pods.
  bool hand_over(const api::Pod& pod, const ByName& allocations, WallTime now);
  // What the pod is about to take over; null: nothing, or no longer.
  const ByName* handed_over(std::string_view uid, WallTime now) const;
  void forget(std::string_view uid);
  bool holds() const { return !holds_.empty(); }
  // What other pods than the one of this uid, which has this priority, are about to take, and nobody holds.
  api::AllocationResult held_from(int64_t priority, std::string_view uid, WallTime now,
                                  const inventory::Inventory& inventory);

 private:
  struct Hold {
    int64_t priority = 0;
    WallTime until{};
    api::AllocationResult devices;
    ByName handed_over{};
  };
  void index_owner(const api::ResourceClaim* before, const api::ResourceClaim* after);

  std::set<std::string> claims_;                                        // keys
  std::map<std::string, std::set<std::string>, std::less<>> of_owner_;  // keys by uid of the controller
  std::map<std::string, Hold, std::less<>> holds_;                      // by uid of the pod
};

}  // namespace dra::allocation
