#include "controllers/allocation/kept/kept_claims.h"

#include <algorithm>

#include "controllers/allocation/causes.h"
#include "pkg/protocol/keep.h"

namespace dra::allocation {

using namespace protocol;
using namespace reconcile;

namespace {

// For whose next pod the claim keeps devices: the uid of a controller. Empty: for none.
std::string owner_of(const api::ResourceClaim* claim) {
  const std::optional<Keep> keep = claim && claim->status.allocation ? keep_of(*claim) : std::nullopt;
  return keep ? keep->owner : std::string();
}

}  // namespace

void KeptClaims::index_owner(const api::ResourceClaim* before, const api::ResourceClaim* after) {
  const std::string was = owner_of(before), is = owner_of(after);
  if (was == is) return;
  if (const auto at = of_owner_.find(was); !was.empty() && at != of_owner_.end()) {
    at->second.erase(before->metadata.key());
    if (at->second.empty()) of_owner_.erase(at);
  }
  if (!is.empty()) of_owner_[is].insert(after->metadata.key());
}

std::set<Cause> KeptClaims::claim_changed(const api::ResourceClaim* before, const api::ResourceClaim* after) {
  index_owner(before, after);
  if (after == nullptr || !is_only_kept(*after)) {
    if (!claims_.empty()) claims_.erase((after != nullptr ? after : before)->metadata.key());
    return {};
  }
  if (!claims_.insert(after->metadata.key()).second) return {};
  std::set<Cause> causes;
  add_class_causes(after->spec, causes);
  add_driver_causes(*after->status.allocation, causes);
  return causes;
}

std::vector<std::shared_ptr<const api::ResourceClaim>> KeptClaims::below(const View& view, int64_t priority) const {
  std::vector<std::pair<int64_t, std::shared_ptr<const api::ResourceClaim>>> found;
  for (const std::string& key : claims_) {
    auto claim = view.shared_claim(key);
    if (claim == nullptr || !is_only_kept(*claim)) continue;
    if (const int64_t own = keep_of(*claim)->priority; own < priority) found.emplace_back(own, std::move(claim));
  }
  std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  if (found.size() > kMostSearched) found.erase(found.begin(), found.end() - kMostSearched);
  std::vector<std::shared_ptr<const api::ResourceClaim>> claims;
  claims.reserve(found.size());
  for (auto& [own, claim] : found) claims.push_back(std::move(claim));
  return claims;
}

std::vector<std::shared_ptr<const api::ResourceClaim>> KeptClaims::of_owner(const View& view,
                                                                            std::string_view owner) const {
  std::vector<std::shared_ptr<const api::ResourceClaim>> claims;
  const auto keys = of_owner_.find(owner);
  if (keys == of_owner_.end()) return claims;
  for (const std::string& key : keys->second) {
    auto claim = view.shared_claim(key);
    if (owner_of(claim.get()) == owner) claims.push_back(std::move(claim));
    if (claims.size() == kMostSearched) break;
  }
  return claims;
}

bool KeptClaims::hand_over(const api::Pod& pod, const ByName& allocations, WallTime now) {
  std::vector<api::AllocationResult> all;
  for (const auto& [name, allocation] : allocations) all.push_back(allocation);
  hold(pod, all, now);
  const auto one = holds_.find(pod.metadata.uid);
  if (one == holds_.end()) return false;
  one->second.handed_over = allocations;
  return true;
}

const KeptClaims::ByName* KeptClaims::handed_over(std::string_view uid, WallTime now) const {
  const auto one = holds_.find(uid);
  return one == holds_.end() || one->second.until <= now || one->second.handed_over.empty() ? nullptr
                                                                                            : &one->second.handed_over;
}

void KeptClaims::forget(std::string_view uid) {
  if (const auto one = holds_.find(uid); one != holds_.end()) holds_.erase(one);
}

void KeptClaims::hold(const api::Pod& pod, const std::vector<api::AllocationResult>& allocations, WallTime now) {
  std::erase_if(holds_, [&](const auto& one) { return one.second.until <= now; });
  if (holds_.size() >= kMostHolds && !holds_.contains(pod.metadata.uid)) return;
  Hold& one = holds_[pod.metadata.uid];
  one = {pod.priority, now + kHold, {}, {}};
  for (const api::AllocationResult& allocation : allocations)
    one.devices.results.insert(one.devices.results.end(), allocation.results.begin(), allocation.results.end());
}

api::AllocationResult KeptClaims::held_from(int64_t priority, std::string_view uid, WallTime now,
                                            const inventory::Inventory& inventory) {
  std::erase_if(holds_, [&](const auto& one) { return one.second.until <= now; });
  api::AllocationResult all;
  for (const auto& [owner, one] : holds_) {
    if (owner == uid || priority > one.priority) continue;
    for (const api::DeviceRequestAllocationResult& result : one.devices.results)
      if (!result.admin_access && inventory.holders({result.driver, result.pool, result.device}).empty())
        all.results.push_back(result);
  }
  return all;
}

}  // namespace dra::allocation
