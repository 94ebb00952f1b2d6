// When a pod has to go because of tainted devices: the rules of kube-controller-manager's device taint eviction
// (KEP-5055), derived from the objects alone, so that deadlines survive restarts. Pure functions.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>

#include "pkg/api/core.h"
#include "pkg/api/resource.h"
#include "pkg/base/clock.h"
#include "pkg/inventory/inventory.h"
#include "pkg/reconcile/view.h"

namespace dra::tainteviction {

// The earliest deadline among the taints of a pod's devices, and what sets it.
struct Verdict {
  WallTime due;
  // "device drv/pool/dev of claim ns/c has the taint key=value:NoExecute"; where several taints set the same deadline,
  // the first one in the order of the pod's claims and their results, and how many more there are.
  std::string reason;
  // The DeviceTaintRules one of whose taints the pod does not tolerate forever, by uid and without duplicates.
  std::set<std::string> rules;
};

// How taints of DeviceTaintRules are read.
struct RuleReading {
  // The uid of a rule whose taint counts as NoExecute, whatever its effect is: what would be if it were.
  std::string as_no_execute;
  // False: the taints of this rule do not count (yet). Empty: all count.
  std::function<bool(const std::string& rule)> counts;
};

// A taint with effect NoExecute against the tolerations of an allocation result. Only tolerations whose effect is
// exactly NoExecute count here (an empty effect matches when devices are allocated, not when pods are evicted).
//   no matching toleration             -> the time the taint was added, hence at once
//   one without tolerationSeconds      -> never
//   else                               -> the time the taint was added + the least of the seconds
// API servers set timeAdded. A taint without a readable one evicts at `now` who does not tolerate it, and never who
// tolerates it for a while: there is nothing to count from.
std::optional<WallTime> eviction_time(const api::DeviceTaint& taint, const api::DeviceRequestAllocationResult& result,
                                      WallTime now);

// The pod holds the claim: it is the claim of one of its entries (and its own where it was generated), or of its
// extended resources, and reserved for this instance of the pod.
// Nothing: the pod may stay, as far as device taints go: not bound, finished, being deleted, or nothing untolerated.
std::optional<Verdict> judge(const reconcile::View& view, const inventory::Inventory& inventory, const api::Pod& pod,
                             const RuleReading& reading = {});

}  // namespace dra::tainteviction
