#include "controllers/tainteviction/rules.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "controllers/tainteviction/verdict.h"
#include "pkg/inventory/taint_rules.h"
#include "pkg/reconcile/reasons.h"

namespace dra::tainteviction {

using namespace protocol;
using namespace reconcile;

namespace {

constexpr std::string_view kNotStarted = condition_reason(kEvictionInProgress, "NotStarted");
constexpr std::string_view kPending = condition_reason(kEvictionInProgress, "PodsPendingEviction");
constexpr std::string_view kCompleted = condition_reason(kEvictionInProgress, "Completed");
constexpr std::string_view kWaitsForApproval = condition_reason(kEvictionInProgress, "WaitsForApproval");
constexpr std::string_view kNoEffect = condition_reason(kEvictionInProgress, "NoEffect");
constexpr std::string_view kOtherEffect = condition_reason(kEvictionInProgress, "OtherEffect");

bool is_selected(const api::DeviceTaintRule& rule, const api::DeviceRequestAllocationResult& result) {
  return inventory::selects(rule, result.driver, result.pool, result.device);
}

// "1 pod", "2 pods".
std::string count_of(uint64_t count, const std::string& singular) {
  return std::to_string(count) + " " + singular + (count == 1 ? "" : "s");
}

// Upstream's words: "1 namespace", "2 different namespaces".
std::string namespaces_of(size_t count, bool different) {
  return std::to_string(count) + (count == 1 ? " namespace" : different ? " different namespaces" : " namespaces");
}

void add_sentence(std::string& text, const std::string& sentence) {
  text += (text.empty() ? "" : " ") + sentence;
}

bool is_allowed(const api::DeviceTaintRule& rule) {
  const auto annotation = rule.metadata.annotations.find(kAllowEvictions);
  return annotation != rule.metadata.annotations.end() &&
         annotation->second == std::to_string(rule.metadata.generation);
}

}  // namespace

std::vector<const api::ResourceClaim*> ClaimsOfRule::next(const View& view, const api::DeviceTaintRule& rule) {
  std::vector<const api::ResourceClaim*> claims;
  if (rule.has_selector)
    claims = rule.driver && rule.pool ? view.claims_on_pool_after(*rule.driver, *rule.pool, at_, kAtOnce)
                                      : view.claims_after(at_, kAtOnce);
  done_ = claims.size() < kAtOnce;
  if (!claims.empty()) at_ = claims.back()->metadata.key();
  std::erase_if(claims, [&](const api::ResourceClaim* claim) {
    if (!claim->status.allocation) return true;
    const auto& results = claim->status.allocation->results;
    return std::none_of(results.begin(), results.end(), [&](const auto& result) { return is_selected(rule, result); });
  });
  return claims;
}

Reach reach_of(const View& view, const inventory::Inventory& inventory, const api::DeviceTaintRule& rule,
               bool supposing) {
  Reach reach;
  reach.published_devices = inventory.count_selected(rule);
  RuleReading reading;
  if (supposing) reading.as_no_execute = rule.metadata.uid;
  std::set<std::tuple<std::string_view, std::string_view, std::string_view>> devices;
  std::set<std::string_view> pods, namespaces;  // by uid; by name
  const auto count = [&](const api::ResourceClaim& claim) {
    for (const api::DeviceRequestAllocationResult& result : claim.status.allocation->results)
      if (is_selected(rule, result)) devices.emplace(result.driver, result.pool, result.device);
    for (const api::Pod* pod : view.pods_of_claim(claim.metadata.key())) {
      if (pods.contains(pod->metadata.uid)) continue;
      const std::optional<DueEviction> verdict = judge(view, inventory, *pod, reading);
      if (!verdict || !verdict->rules.contains(rule.metadata.uid)) continue;
      pods.insert(pod->metadata.uid);
      namespaces.insert(pod->metadata.ns);
    }
  };
  for (ClaimsOfRule claims; !claims.done();)
    for (const api::ResourceClaim* claim : claims.next(view, rule)) count(*claim);
  reach.allocated_devices = devices.size();
  reach.pods = pods.size();
  reach.namespaces = namespaces.size();
  return reach;
}

std::string tally_of_generation(const api::DeviceTaintRule& rule) {
  return rule.metadata.uid + "/" + std::to_string(rule.metadata.generation);
}

const api::Condition* eviction_condition(const api::DeviceTaintRule& rule) {
  for (const api::Condition& condition : rule.conditions)
    if (condition.type == kEvictionInProgress) return &condition;
  return nullptr;
}

bool may_evict(const api::DeviceTaintRule& rule, uint64_t max_evictions) {
  if (max_evictions == 0) return true;
  const api::Condition* condition = eviction_condition(rule);
  return condition && condition->status == "True" && condition->observed_generation == rule.metadata.generation;
}

bool has_no_limit(const api::DeviceTaintRule& rule, uint64_t max_evictions) {
  return max_evictions == 0 || is_allowed(rule);
}

bool may_evict_another(const View& view, const Reach& reach, const api::DeviceTaintRule& rule, uint64_t max_evictions) {
  if (!may_evict(rule, max_evictions)) return false;
  if (has_no_limit(rule, max_evictions)) return true;
  const uint64_t evicted = view.tallied(tally_of_generation(rule));
  return evicted < max_evictions && evicted + reach.pods <= max_evictions;
}

namespace {

// Some pod of this generation was evicted, as far as this process or the status remembers.
bool has_evicted(const View& view, const api::DeviceTaintRule& rule) {
  if (view.tallied(tally_of_generation(rule)) > 0) return true;
  const api::Condition* before = eviction_condition(rule);
  return before && before->observed_generation == rule.metadata.generation &&
         (before->reason == kCompleted || before->reason == kPending);
}

api::Condition simulated(const Reach& reach) {
  return {std::string(kEvictionInProgress),
          "False",
          std::string(kNoEffect),
          count_of(reach.published_devices, "published device") + " selected. " +
              count_of(reach.allocated_devices, "allocated device") + " selected. " + count_of(reach.pods, "pod") +
              " would be evicted in " + namespaces_of(reach.namespaces, true) +
              " if the effect was NoExecute. This information will not be updated again. Recreate the DeviceTaintRule "
              "to trigger an update.",
          "",
          0};
}

api::Condition of_no_execute(const View& view, const Reach& reach, const api::DeviceTaintRule& rule,
                             uint64_t max_evictions) {
  const uint64_t in_all = reach.pods + view.tallied(tally_of_generation(rule));
  if (reach.pods > 0 && max_evictions > 0 && in_all > max_evictions && !is_allowed(rule))
    return {std::string(kEvictionInProgress),
            "False",
            std::string(kWaitsForApproval),
            count_of(in_all, "pod") + " would be evicted, " + std::to_string(reach.pods) + " of them now in " +
                namespaces_of(reach.namespaces, true) + ", which is more than --max-evictions-per-rule=" +
                std::to_string(max_evictions) + ". To let the evictions begin, set the annotation " +
                std::string(kAllowEvictions) + "=" + std::to_string(rule.metadata.generation) + " on this rule.",
            "",
            0};
  if (reach.pods > 0)
    return {std::string(kEvictionInProgress),
            "True",
            std::string(kPending),
            count_of(reach.pods, "pod") + (reach.pods == 1 ? " needs" : " need") + " to be evicted in " +
                namespaces_of(reach.namespaces, true) + ".",
            "",
            0};
  return {std::string(kEvictionInProgress),
          "False",
          std::string(has_evicted(view, rule) ? kCompleted : kNotStarted),
          "",
          "",
          0};
}

}  // namespace

api::Condition condition_for(const View& view, const Reach& reach, const api::DeviceTaintRule& rule,
                             uint64_t max_evictions) {
  api::Condition condition;
  if (rule.taint.effect == "None")
    condition = simulated(reach);
  else if (rule.taint.effect == "NoExecute")
    condition = of_no_execute(view, reach, rule, max_evictions);
  else
    condition = {std::string(kEvictionInProgress),
                 "False",
                 std::string(kOtherEffect),
                 "Eviction only happens for the NoExecute effect.",
                 "",
                 0};
  if (!rule.unknown_selector.empty())
    add_sentence(condition.message, "The rule selects no device: its deviceSelector has the field \"" +
                                        rule.unknown_selector + "\", which this version does not know.");
  else if (!rule.has_selector)
    add_sentence(condition.message, "The rule selects no device: it has no deviceSelector ({} selects every device).");
  if (const uint64_t evicted = view.tallied(rule.metadata.uid); evicted > 0)
    add_sentence(condition.message, count_of(evicted, "pod") + " evicted since starting the controller.");
  return condition;
}

}  // namespace dra::tainteviction
