#include "controllers/allocation/kept/kept_devices.h"

#include <algorithm>

#include "controllers/allocation/causes.h"
#include "controllers/allocation/kept/promised_devices.h"
#include "controllers/allocation/members/group_members.h"
#include "pkg/protocol/groups.h"
#include "pkg/protocol/pod_claims.h"

namespace dra::allocation {

using namespace protocol;
using namespace reconcile;

namespace {

// In a group with more pods than this a count holds for kPausePerPod for each of them.
constexpr size_t kCountedAtEachChange = 64;
constexpr Duration kPausePerPod = std::chrono::microseconds(100);
constexpr size_t kMaxCounts = 256;

Duration pause_of(const View& view, std::string_view group) {
  return kPausePerPod * static_cast<int64_t>(view.size_of_group(group));
}

size_t count_running(const View& view, std::string_view group) {
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

bool KeptDevices::is_recent(const View& view, const std::string& group, const Count& count) const {
  const Duration age = std::chrono::duration_cast<Duration>(view.now() - count.at);
  return age >= Duration::zero() && age < pause_of(view, group);
}

size_t KeptDevices::running_members(const View& view, const std::string& group) {
  if (is_too_large(view, group)) return 0;  // nothing is kept for it
  if (view.size_of_group(group) <= kCountedAtEachChange) return count_running(view, group);
  if (const auto known = counts_.find(group); known != counts_.end() && is_recent(view, group, known->second)) {
    known->second.outdated = true;
    return known->second.running;
  }
  if (counts_.size() >= kMaxCounts && !counts_.contains(group)) counts_.clear();
  counts_[group] = {count_running(view, group), view.now()};
  return counts_[group].running;
}

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
      const bool held = !result.share_id
                            ? !holders.empty()
                            : std::any_of(holders.begin(), holders.end(),
                                          [&uid = uid](const auto& holder) { return holder.claim_uid == uid; });
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
  return drop_of_group(group->key(), running_members(view, group->key()));
}

std::set<Cause> KeptDevices::drop_of_group(std::string_view group, size_t running) {
  return drop_if([&](const One& one) { return one.group == group && (running == 0 || running >= one.members); });
}

std::optional<Duration> KeptDevices::recount_in(const View& view, const api::Pod& pod) {
  const std::optional<GroupRef> group = group_of(pod);
  const auto known = group ? counts_.find(group->key()) : counts_.end();
  if (known == counts_.end() || !known->second.outdated || known->second.awaited) return std::nullopt;
  known->second.awaited = true;
  return pause_of(view, group->key());
}

std::set<Cause> KeptDevices::drop_due(const View& view) {
  std::set<Cause> causes;
  for (auto next = counts_.begin(); next != counts_.end();) {
    const auto one = next++;
    const std::string& group = one->first;
    if (one->second.outdated && !is_recent(view, group, one->second))
      causes.merge(drop_of_group(group, running_members(view, group)));
    if (!keeps_for(group)) counts_.erase(one);
  }
  return causes;
}

KeptFromDecision::KeptFromDecision(inventory::Inventory& inventory, const KeptDevices::Kept& kept)
    : inventory_(inventory), kept_(!kept.devices.results.empty()), promised_(!kept.promised.results.empty()) {
  if (kept_) inventory_.assume(kKeptForGroups, kept.devices);
  if (promised_) inventory_.assume(kPromisedToPods, kept.promised);
}

KeptFromDecision::~KeptFromDecision() {
  if (kept_) inventory_.forget(kKeptForGroups);
  if (promised_) inventory_.forget(kPromisedToPods);
}

}  // namespace dra::allocation
