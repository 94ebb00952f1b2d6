// What a DeviceTaintRule selects, what it evicts, and what its status says about that: the condition EvictionInProgress
// of kube-controller-manager's device-taint-eviction-controller (KEP-5055), with a guard before many evictions. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pkg/api/resource.h"
#include "pkg/inventory/inventory.h"
#include "pkg/reconcile/view.h"

namespace dra::tainteviction {

inline constexpr std::string_view kEvictionInProgress = "EvictionInProgress";
// Its value is the generation of the rule that may evict more than the guard allows.
inline constexpr std::string_view kAllowEvictions = "dra-controller-manager/allow-evictions";

// The claims with an allocated device that the rule selects.
std::vector<const api::ResourceClaim*> claims_selected(const reconcile::View& view, const api::DeviceTaintRule& rule);

struct Reach {
  size_t published_devices = 0;
  size_t allocated_devices = 0;
  size_t pods = 0;  // that the rule evicts, now or when their toleration ends
  size_t namespaces = 0;
};
// `supposing`: as if the effect of the rule were NoExecute.
Reach reach_of(const reconcile::View& view, const inventory::Inventory& inventory, const api::DeviceTaintRule& rule,
               bool supposing);

// The tally (reconcile::Write::tally) of pods that this generation of the rule evicted; that of the rule is its uid.
std::string tally_of_generation(const api::DeviceTaintRule& rule);

// The condition as it stands, or nullptr.
const api::Condition* eviction_condition(const api::DeviceTaintRule& rule);

// Where the guard is on (`max_evictions` above zero) a rule evicts only while its status says so for its present
// generation: what the status says outlives restarts, and every leader reads the same.
bool may_evict(const api::DeviceTaintRule& rule, uint64_t max_evictions);
// And one more pod now. The status may have been written when fewer pods were known: as many as are known now count.
bool may_evict_another(const reconcile::View& view, const inventory::Inventory& inventory,
                       const api::DeviceTaintRule& rule, uint64_t max_evictions);

// What the condition has to say now. type, status, reason and message are set.
api::Condition condition_for(const reconcile::View& view, const inventory::Inventory& inventory,
                             const api::DeviceTaintRule& rule, uint64_t max_evictions);

}  // namespace dra::tainteviction
