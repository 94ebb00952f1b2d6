// PromisedDevices: devices that were promised to waiting pods (--preemption=on, pkg/protocol/promise.h), which pods of
// no higher priority must leave.
//
// Derived from the pods as the events of the controller show them; nothing is lost by a restart. A promise counts while
// its pod waits and is ours to bind; whether it stands is judged by the controller preemption, which withdraws it
// otherwise. Devices that somebody holds are not kept: their claim has them. At most protocol::kMostPromises count,
// half of them of one namespace. Not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "pkg/api/core.h"
#include "pkg/api/resource.h"
#include "pkg/inventory/inventory.h"
#include "pkg/reconcile/effect.h"

namespace dra::allocation {

struct Options;

// As whose the devices count for a decision that must leave them; not the uid of a claim.
inline constexpr std::string_view kPromisedToPods = "devices-promised-to-pods";

class PromisedDevices {
 public:
  // A pod came, changed or went (`after` null). Returns the causes that are satisfied now, to be unparked.
  std::set<reconcile::Cause> pod_changed(const api::Pod* before, const api::Pod* after, const Options& options);
  bool empty() const { return promised_.empty(); }
  // Promised to other pods than the one of this uid, which has this priority, and held by nobody.
  api::AllocationResult promised_from(int64_t priority, std::string_view uid,
                                      const inventory::Inventory& inventory) const;

 private:
  struct One {
    std::string ns;
    int64_t priority = 0;
    api::AllocationResult devices;
  };
  bool within_limits(const api::Pod& pod) const;

  std::map<std::string, One, std::less<>> promised_;  // by uid of the pod
};

}  // namespace dra::allocation
