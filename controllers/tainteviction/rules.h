// What a DeviceTaintRule selects and evicts, and what its status says about that: the condition EvictionInProgress of
// kube-controller-manager's device-taint-eviction-controller (KEP-5055), with a guard before many evictions. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pkg/api/resource.h"
#include "pkg/inventory/inventory.h"
#include "pkg/reconcile/view.h"

namespace dra::tainteviction {

inline constexpr std::string_view kEvictionInProgress = "EvictionInProgress";
// The annotation's value is the generation of the rule that may evict more pods than the guard allows.
inline constexpr std::string_view kAllowEvictions = "dra-controller-manager/allow-evictions";

// The claims with an allocated device that the rule selects, in portions: a pool, or the cluster, may have 100,000.
//
//   ClaimsOfRule claims;
//   do for (const api::ResourceClaim* claim : claims.next(view, rule)) ...; while (!claims.done());
//
// Always with the same rule. Claims may change between two portions: each change is reported by itself.
class ClaimsOfRule {
 public:
  static constexpr size_t kAtOnce = 250;  // examined, not found; each may have many pods

  std::vector<const api::ResourceClaim*> next(const reconcile::View& view, const api::DeviceTaintRule& rule);
  bool done() const { return done_; }

 private:
  std::string at_;  // the key of the last claim that was examined
  bool done_ = false;
};

struct Reach {
  size_t published_devices = 0;
  size_t allocated_devices = 0;
  size_t pods = 0;  // that the rule evicts, now or when their toleration ends
  size_t namespaces = 0;
};
// Counts it in one pass over the claims, where reaches.h does so in portions. `supposing`: counts as if the rule's
// effect were NoExecute.
Reach reach_of(const reconcile::View& view, const inventory::Inventory& inventory, const api::DeviceTaintRule& rule,
               bool supposing);

// The tally (reconcile::Write::tally) of pods that this generation of the rule evicted; the rule's own is its uid.
std::string tally_of_generation(const api::DeviceTaintRule& rule);

// The rule's current condition, or nullptr.
const api::Condition* eviction_condition(const api::DeviceTaintRule& rule);

// With the guard on (`max_evictions` above zero) a rule evicts only while its status says so for its current
// generation: the status outlives restarts, and every leader reads the same.
bool may_evict(const api::DeviceTaintRule& rule, uint64_t max_evictions);
// The rule may evict any number of pods: there is no guard, or its annotation allows it.
bool has_no_limit(const api::DeviceTaintRule& rule, uint64_t max_evictions);
// Whether it may evict one more pod now, with the guard on. The status may be older than some pods: all pods known now
// count.
bool may_evict_another(const reconcile::View& view, const Reach& reach, const api::DeviceTaintRule& rule,
                       uint64_t max_evictions);

// The condition to write now: type, status, reason and message are set.
// `reach`: for effect None, that of a simulation (reaches.h).
api::Condition condition_for(const reconcile::View& view, const Reach& reach, const api::DeviceTaintRule& rule,
                             uint64_t max_evictions);

}  // namespace dra::tainteviction
