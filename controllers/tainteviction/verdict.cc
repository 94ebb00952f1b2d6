#include "controllers/tainteviction/verdict.h"

#include <algorithm>
#include <set>
#include <vector>

#include "pkg/api/selectors.h"
#include "pkg/protocol/group_claims.h"
#include "pkg/protocol/pod_claims.h"

namespace dra::tainteviction {

using namespace protocol;
using namespace reconcile;

namespace {

constexpr std::string_view kNoExecute = "NoExecute";
constexpr Timestamp kLastTime = Timestamp::at(253'402'300'799, 999'999'999);  // the end of the year 9999

std::string reason_text(const api::ResourceClaim& claim, const api::DeviceRequestAllocationResult& result,
                        const inventory::Inventory::PlacedTaint& placed) {
  const api::DeviceTaint& taint = placed.taint;
  const std::string rule = placed.rule.empty() ? "" : " by DeviceTaintRule " + placed.rule;
  return "device " + result.driver + "/" + result.pool + "/" + result.device + " of claim " + claim.metadata.key() +
         " has the taint " + taint.key + (taint.value.empty() ? "" : "=" + taint.value) + ":" +
         std::string(kNoExecute) + rule;
}

// The allocated claims that the pod holds, without duplicates.
std::vector<const api::ResourceClaim*> held_claims(const View& view, const api::Pod& pod) {
  std::vector<const api::ResourceClaim*> held;
  const auto consider = [&](const std::string& name, bool must_check_owner) {
    const api::ResourceClaim* claim = view.claim(pod.metadata.ns + "/" + name);
    if (!claim || !claim->status.allocation || !is_usable_by(view, pod, *claim)) return;
    if (must_check_owner && !is_for_pod(pod, *claim) && !is_made_for_group_of(pod, *claim)) return;
    if (std::find(held.begin(), held.end(), claim) == held.end()) held.push_back(claim);
  };
  for (const api::PodResourceClaim& entry : pod.resource_claims) {
    const ResolvedClaim resolved = resolve_claim(pod, entry);
    if (resolved.state == ResolvedClaim::State::kNamed) consider(resolved.name, resolved.must_check_owner);
  }
  if (pod.extended_resource_claim_status && !pod.extended_resource_claim_status->resource_claim_name.empty())
    consider(pod.extended_resource_claim_status->resource_claim_name, true);
  return held;
}

// A toleration that this build does not know as a whole may tolerate any taint: nobody is evicted for it.
bool tolerates_in_an_unknown_way(const View& view, const api::ResourceClaim& claim) {
  const auto& unknown = claim.status.allocation->unknown;
  if (!unknown) return false;
  return unknown->more ||
         std::any_of(unknown->fields.begin(), unknown->fields.end(), [&](const api::UnknownField& field) {
           return field.field.starts_with("resourceclaims.status.allocation.devices.results.tolerations") &&
                  !api::is_ignored(field, view.ignored_fields());
         });
}

}  // namespace

std::optional<Timestamp> eviction_time(const api::DeviceTaint& taint, const api::DeviceRequestAllocationResult& result,
                                       WallTime now) {
  std::optional<int64_t> seconds;
  for (const api::DeviceToleration& toleration : result.tolerations) {
    if (toleration.effect != kNoExecute || !api::is_about(toleration, taint)) continue;
    if (!toleration.toleration_seconds) return std::nullopt;
    const int64_t tolerated = std::max<int64_t>(0, *toleration.toleration_seconds);
    seconds = seconds ? std::min(*seconds, tolerated) : tolerated;
  }
  Timestamp added;
  if (!parse_rfc3339(taint.time_added, added)) {
    if (seconds) return std::nullopt;
    return now;
  }
  if (!seconds) return added;
  const Timestamp due = added.plus_seconds(*seconds);
  return due <= kLastTime ? std::optional(due) : std::nullopt;
}

std::optional<DueEviction> judge(const View& view, const inventory::Inventory& inventory, const api::Pod& pod,
                                 const RuleReading& reading) {
  if (pod.node_name.empty() || pod.terminal() || pod.metadata.deleting()) return std::nullopt;
  std::optional<DueEviction> verdict;
  std::set<std::string> rules;
  size_t as_early = 0;
  const auto weigh = [&](const api::ResourceClaim& claim, const api::DeviceRequestAllocationResult& result,
                         const inventory::Inventory::PlacedTaint& placed) {
    const bool supposed = !placed.rule_uid.empty() && placed.rule_uid == reading.as_no_execute;
    if (!supposed && placed.taint.effect != kNoExecute) return;
    if (!placed.rule.empty() && reading.counts && !reading.counts(placed.rule)) return;
    const std::optional<Timestamp> due = eviction_time(placed.taint, result, view.now());
    if (!due) return;
    if (!placed.rule_uid.empty()) rules.insert(placed.rule_uid);
    if (!verdict || *due < verdict->due) {
      verdict = DueEviction{*due, reason_text(claim, result, placed), {}};
      as_early = 0;
    } else if (*due == verdict->due) {
      ++as_early;
    }
  };
  for (const api::ResourceClaim* claim : held_claims(view, pod)) {
    if (tolerates_in_an_unknown_way(view, *claim)) continue;
    for (const api::DeviceRequestAllocationResult& result : claim->status.allocation->results)
      for (const auto& placed : inventory.placed_taints({result.driver, result.pool, result.device}, pod.node_name))
        weigh(*claim, result, placed);
  }
  if (!verdict) return std::nullopt;
  if (as_early > 0) verdict->reason += " (and " + std::to_string(as_early) + " more)";
  verdict->rules = std::move(rules);
  return verdict;
}

}  // namespace dra::tainteviction
