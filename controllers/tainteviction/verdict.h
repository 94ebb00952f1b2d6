// When a pod must be evicted because of tainted devices: the rules of kube-controller-manager's device taint eviction
// (KEP-5055), derived from the objects alone, so that deadlines survive restarts. Pure functions.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>

#include "pkg/api/core.h"
#include "pkg/api/resource.h"
#include "pkg/base/clock.h"
#include "pkg/base/timestamp.h"
#include "pkg/inventory/inventory.h"
#include "pkg/reconcile/view.h"

namespace dra::tainteviction {

// The earliest deadline among the taints of a pod's devices, and the taint that sets it.
struct DueEviction {
  Timestamp due;
  // "device drv/pool/dev of claim ns/c has the taint key=value:NoExecute". If several taints set the same deadline: the
  // first in the order of the pod's claims and their results, and how many more there are.
  std::string reason;
  // The uids, without duplicates, of the DeviceTaintRules that have a taint which the pod does not tolerate forever.
  std::set<std::string> rules;
};

// How taints of DeviceTaintRules are read.
struct RuleReading {
  // The uid of a rule whose taint counts as NoExecute whatever its effect is: asks what it would do.
  std::string as_no_execute;
  // False: this rule's taints do not count (yet). Empty: all count.
  std::function<bool(const std::string& rule)> counts;
};

// Matches a NoExecute taint against the tolerations of an allocation result. Only tolerations whose effect is exactly
// NoExecute count here (an empty effect matches when devices are allocated, not when pods are evicted).
//   no matching toleration             -> the time the taint was added, hence at once
//   one without tolerationSeconds      -> never
//   else                               -> the time the taint was added + the least of the seconds; never if that is
//   after
//                                         the year 9999, the last one that RFC 3339 can write
// API servers set timeAdded. If it is missing or malformed, a pod without a toleration is evicted at `now`, and a pod
// with tolerationSeconds is never evicted, because there is no start time to count from.
std::optional<Timestamp> eviction_time(const api::DeviceTaint& taint, const api::DeviceRequestAllocationResult& result,
                                       WallTime now);

// The pod holds the claim when the claim is of one of its entries (and its own if it was generated), or of its extended
// resources, and is reserved for this instance of the pod.
// Nothing: the pod may stay as far as device taints go: unbound, finished, being deleted, or nothing untolerated. A
// claim with a toleration that has an unknown field or value (pkg/api/unknown_fields.h) counts as tolerating.
std::optional<DueEviction> judge(const reconcile::View& view, const inventory::Inventory& inventory,
                                 const api::Pod& pod, const RuleReading& reading = {});

}  // namespace dra::tainteviction
