#include "controllers/allocation/kept/promised_devices.h"

#include <algorithm>

#include "controllers/allocation/causes.h"
#include "controllers/allocation/options.h"
#include "controllers/allocation/protocol.h"
#include "pkg/protocol/groups.h"

namespace dra::allocation {

using namespace protocol;
using namespace reconcile;

bool PromisedDevices::within_limits(const api::Pod& pod) const {
  if (promised_.contains(pod.metadata.uid)) return true;
  const auto of_namespace = static_cast<size_t>(std::count_if(
      promised_.begin(), promised_.end(), [&](const auto& entry) { return entry.second.ns == pod.metadata.ns; }));
  return promised_.size() < kMostPromises && 2 * of_namespace < kMostPromises;
}

// A record that names pods of others keeps nothing of nodes for these.
void PromisedDevices::tell(const View& view, const std::string& owner, const One& one,
                           const std::vector<Instance>& before, const std::vector<Promise::Place>& places,
                           nodes::NodeChooser& nodes) {
  std::vector<nodes::NodeChooser::PromisedPlace> told;
  std::map<std::string, const api::Pod*> waiting;  // by uid
  const auto add = [&](const Instance& instance) {
    const api::Pod* pod = view.pod(instance.key);
    if (pod == nullptr || pod->metadata.uid != instance.uid) return true;
    if (pod->node_name.empty()) waiting.emplace(instance.uid, pod);
    const std::optional<GroupRef> group = group_of(*pod);
    return group && group->key() == one.group;
  };
  for (const Instance& instance : before) add(instance);
  for (const Promise::Place& place : places)
    if (add(place.pod)) told.push_back({place.pod.uid, place.node});
  std::vector<const api::Pod*> known;
  for (const auto& [uid, pod] : waiting) known.push_back(pod);
  nodes.set_places(owner, told, known);
}

std::set<Cause> PromisedDevices::pod_changed(const View& view, const api::Pod* before, const api::Pod* after,
                                             const Options& options, nodes::NodeChooser& nodes) {
  if (!options.preemption) return {};
  const std::string& uid = (after != nullptr ? after : before)->metadata.uid;
  const auto known = promised_.find(uid);
  const bool has = after != nullptr && has_promise(*after) && !after->done() && is_ours_to_bind(*after, options);
  if (!has && known == promised_.end()) return {};
  const std::optional<Result<Promise>> promise = has ? promise_of(*after) : std::nullopt;
  const bool counts = promise && *promise && (after->node_name.empty() || (*promise)->of_group());
  if (counts && within_limits(*after)) {
    One& one = promised_[uid];
    const std::vector<Instance> others = std::move(one.pods);
    one = {after->metadata.ns, "", after->priority, {}, {}};
    if ((*promise)->of_group()) {
      const std::optional<GroupRef> group = group_of(*after);
      one.group = group ? group->key() : "";
      for (const Promise::Place& place : (*promise)->places) one.pods.push_back(place.pod);
    }
    if (!one.pods.empty() || !others.empty()) tell(view, uid, one, others, (*promise)->places, nodes);
    for (const auto& [claim, allocation] : (*promise)->allocations)
      one.devices.results.insert(one.devices.results.end(), allocation.results.begin(), allocation.results.end());
    return {};
  }
  std::set<Cause> causes;
  if (known == promised_.end()) return causes;
  // Also what it would have used of its node.
  causes.emplace(kCapacityCause);
  add_driver_causes(known->second.devices, causes);
  if (!known->second.pods.empty()) tell(view, uid, known->second, known->second.pods, {}, nodes);
  promised_.erase(uid);
  return causes;
}

api::AllocationResult PromisedDevices::promised_from(int64_t priority, const api::Pod& pod,
                                                     const inventory::Inventory& inventory) const {
  api::AllocationResult all;
  const std::optional<GroupRef> group = group_of(pod);
  const std::string own = group ? group->key() : "";
  for (const auto& [owner, one] : promised_) {
    if (owner == pod.metadata.uid || (!one.group.empty() && one.group == own) || priority > one.priority) continue;
    for (const api::DeviceRequestAllocationResult& result : one.devices.results) {
      if (result.admin_access) continue;
      if (result.share_id || inventory.holders({result.driver, result.pool, result.device}).empty())
        all.results.push_back(result);
    }
  }
  return all;
}

}  // namespace dra::allocation
