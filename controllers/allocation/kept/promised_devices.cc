#include "controllers/allocation/kept/promised_devices.h"

#include <algorithm>

#include "controllers/allocation/causes.h"
#include "controllers/allocation/options.h"
#include "controllers/allocation/protocol.h"
#include "pkg/protocol/promise.h"

namespace dra::allocation {

using namespace protocol;
using namespace reconcile;

bool PromisedDevices::within_limits(const api::Pod& pod) const {
  if (promised_.contains(pod.metadata.uid)) return true;
  const auto of_namespace = static_cast<size_t>(std::count_if(
      promised_.begin(), promised_.end(), [&](const auto& entry) { return entry.second.ns == pod.metadata.ns; }));
  return promised_.size() < kMostPromises && 2 * of_namespace < kMostPromises;
}

std::set<Cause> PromisedDevices::pod_changed(const api::Pod* before, const api::Pod* after, const Options& options) {
  if (!options.preemption) return {};
  const std::string& uid = (after != nullptr ? after : before)->metadata.uid;
  const auto known = promised_.find(uid);
  const bool counts = after != nullptr && has_promise(*after) && after->node_name.empty() && !after->done() &&
                      is_ours_to_bind(*after, options);
  if (!counts && known == promised_.end()) return {};
  const std::optional<Result<Promise>> promise = counts ? promise_of(*after) : std::nullopt;
  if (promise && *promise && within_limits(*after)) {
    One& one = promised_[uid];
    one = {after->metadata.ns, after->priority, {}};
    for (const auto& [claim, allocation] : (*promise)->allocations)
      one.devices.results.insert(one.devices.results.end(), allocation.results.begin(), allocation.results.end());
    return {};
  }
  std::set<Cause> causes;
  if (known == promised_.end()) return causes;
  // Also what it would have used of its node.
  causes.emplace(kCapacityCause);
  add_driver_causes(known->second.devices, causes);
  promised_.erase(known);
  return causes;
}

api::AllocationResult PromisedDevices::promised_from(int64_t priority, std::string_view uid,
                                                     const inventory::Inventory& inventory) const {
  api::AllocationResult all;
  for (const auto& [owner, one] : promised_) {
    if (owner == uid || priority > one.priority) continue;
    for (const api::DeviceRequestAllocationResult& result : one.devices.results) {
      if (result.admin_access) continue;
      if (result.share_id || inventory.holders({result.driver, result.pool, result.device}).empty())
        all.results.push_back(result);
    }
  }
  return all;
}

}  // namespace dra::allocation
