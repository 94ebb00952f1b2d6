#include "controllers/allocation/kept_devices.h"

#include <algorithm>

#include "controllers/allocation/causes.h"
#include "controllers/allocation/group_members.h"
#include "pkg/reconcile/groups.h"
#include "pkg/reconcile/pod_claims.h"

namespace dra::allocation {

using namespace reconcile;

namespace {

constexpr std::string_view kKept = "devices-kept-for-groups";  // not the uid of a claim

size_t running_members(const View& view, std::string_view group) {
  if (is_too_large(view, group)) return 0;  // nothing is kept for it
  const std::vector<const api::Pod*> pods = view.pods_of_group(group);
  return static_cast<size_t>(
      std::count_if(pods.begin(), pods.end(), [&](const api::Pod* pod) { return is_launched(view, *pod); }));
}

// Others use the claim, so its devices do not become free with the pod.
bool is_used_by_others(const api::ResourceClaim& claim, const std::string& pod_uid) {
  return std::any_of(claim.status.reserved_for.begin(), claim.status.reserved_for.end(),
                     [&](const auto& consumer) { return consumer.uid != pod_uid; });
}

}  // namespace

std::optional<Duration> KeptDevices::note_end(const View& view, const api::Pod& before, const api::Pod* after,
                                              Duration timeout) {
  if (before.node_name.empty() || before.terminal() || (after != nullptr && after->phase == "Succeeded"))
    return std::nullopt;
  const std::optional<GroupRef> group = group_of(before);
  if (!group || membership_of(view, before).state != Membership::State::kMember) return std::nullopt;
  const size_t others = running_members(view, group->key());
  if (others == 0) return std::nullopt;
  bool any = false;
  for (const std::string& key : claim_keys_of(before)) {
    const api::ResourceClaim* claim = view.claim(key);
    if (claim == nullptr || !claim->status.allocation || is_used_by_others(*claim, before.metadata.uid)) continue;
    if (!within_limits(*claim)) continue;
    One& one = kept_[claim->metadata.uid];
    one = {};
    one.group = group->key();
    one.ns = before.metadata.ns;
    one.shown = group->shown();
    one.priority = before.priority;
    one.members = others + 1;
    one.devices = *claim->status.allocation;
    one.until = view.now() + timeout;
    add_class_causes(claim->spec, one.causes);
    add_driver_causes(one.devices, one.causes);
    any = true;
  }
  return any ? std::optional(timeout) : std::nullopt;
}

bool KeptDevices::within_limits(const api::ResourceClaim& claim) const {
  if (kept_.contains(claim.metadata.uid)) return true;
  size_t all = claim.status.allocation->results.size(), of_namespace = all;
  for (const auto& [uid, one] : kept_) {
    all += one.devices.results.size();
    if (one.ns == claim.metadata.ns) of_namespace += one.devices.results.size();
  }
  return kept_.size() < kMost && all <= kMostDevices && 2 * of_namespace <= kMostDevices;
}

KeptDevices::Kept KeptDevices::kept_from(int64_t priority, std::string_view group, WallTime now,
                                         const inventory::Inventory& inventory) const {
  Kept kept;
  for (const auto& [uid, one] : kept_) {
    if (one.group == group || priority > one.priority || one.until <= now) continue;
    for (const api::DeviceRequestAllocationResult& result : one.devices.results) {
      // Still held by the claim itself, or by a pod that was allowed to take it: must not count twice.
      const std::vector<inventory::Holder> holders = inventory.holders({result.driver, result.pool, result.device});
      const bool held = !result.share_id ? !holders.empty()
                                         : std::any_of(holders.begin(), holders.end(),
                                                       [&](const auto& holder) { return holder.claim_uid == uid; });
      if (held || result.admin_access) continue;
      kept.devices.results.push_back(result);
      kept.shown = one.shown;
    }
  }
  return kept;
}

bool KeptDevices::keeps_for(std::string_view group) const {
  return std::any_of(kept_.begin(), kept_.end(), [&](const auto& entry) { return entry.second.group == group; });
}

std::set<Cause> KeptDevices::drop_if(const std::function<bool(const One&)>& over) {
  std::set<Cause> causes;
  std::erase_if(kept_, [&](const auto& entry) {
    if (!over(entry.second)) return false;
    causes.insert(entry.second.causes.begin(), entry.second.causes.end());
    return true;
  });
  return causes;
}

std::set<Cause> KeptDevices::drop_expired(WallTime now) {
  return drop_if([&](const One& one) { return one.until <= now; });
}

std::set<Cause> KeptDevices::drop_settled(const View& view, const api::Pod& pod) {
  const std::optional<GroupRef> group = group_of(pod);
  if (!group || !keeps_for(group->key())) return {};
  const size_t running = running_members(view, group->key());
  return drop_if([&](const One& one) { return one.group == group->key() && (running == 0 || running >= one.members); });
}

KeptFromDecision::KeptFromDecision(inventory::Inventory& inventory, const api::AllocationResult& devices)
    : inventory_(inventory), any_(!devices.results.empty()) {
  if (any_) inventory_.assume(kKept, devices);
}

KeptFromDecision::~KeptFromDecision() {
  if (any_) inventory_.forget(kKept);
}

}  // namespace dra::allocation
