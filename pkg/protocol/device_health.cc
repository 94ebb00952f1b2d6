#include "pkg/protocol/device_health.h"

#include <algorithm>
#include <optional>

#include "pkg/base/utf8.h"
#include "pkg/protocol/group_claims.h"
#include "pkg/protocol/pod_claims.h"

namespace dra::protocol {

namespace {

using Trouble = DeviceTrouble::Kind;
using Allocated = api::DeviceRequestAllocationResult;

std::string cut(const std::string& words) {
  return words.size() <= kMaxDriverWords ? words : std::string(utf8_prefix(words, kMaxDriverWords)) + "...";
}

// `node`: where the allocation's devices are; empty: several nodes can use them.
std::optional<DeviceTrouble> published_trouble(const Allocated& result, const std::string& node,
                                               const inventory::Inventory& inventory) {
  const auto pool = inventory.pool_on(result.driver, result.pool, node);
  if (!pool || pool->seen_slices == 0)
    return DeviceTrouble{Trouble::kDriverAbsent, "", "its driver publishes no slices of pool " + result.pool, ""};
  if (pool->state != inventory::PoolState::kComplete)
    return DeviceTrouble{Trouble::kPoolUnusable, "",
                         "pool " + result.pool + " of its driver is " +
                             std::string(inventory::pool_state_name(pool->state)) + ": " + pool->reason,
                         ""};
  if (!inventory.device({result.driver, result.pool, result.device}))
    return DeviceTrouble{Trouble::kDeviceGone, "", "it is not published any more", ""};
  return std::nullopt;
}

bool is_about(const api::AllocatedDeviceStatus& status, const Allocated& result) {
  return status.driver == result.driver && status.pool == result.pool && status.device == result.device &&
         status.share_id == result.share_id;
}

std::optional<DeviceTrouble> reported_trouble(const api::ResourceClaim& claim, const Allocated& result) {
  for (const api::AllocatedDeviceStatus& status : claim.status.devices) {
    if (!is_about(status, result)) continue;
    for (const api::Condition& condition : status.conditions) {
      if (condition.type != "Ready" || condition.status != "False") continue;
      const std::string words = condition.message.empty() ? "" : ": " + cut(condition.message);
      return DeviceTrouble{Trouble::kNotReady, "",
                           "its driver says that it is not ready: " + cut(condition.reason) + words,
                           condition.last_transition_time};
    }
  }
  return std::nullopt;
}

}  // namespace

std::string_view trouble_name(DeviceTrouble::Kind kind) {
  switch (kind) {
    case Trouble::kDriverAbsent:
      return "DriverAbsent";
    case Trouble::kPoolUnusable:
      return "PoolUnusable";
    case Trouble::kDeviceGone:
      return "DeviceGone";
    case Trouble::kNotReady:
      return "NotReady";
    case Trouble::kUnhealthy:
      break;
  }
  return "Unhealthy";
}

bool may_pass(DeviceTrouble::Kind kind) {
  return kind == Trouble::kDriverAbsent || kind == Trouble::kPoolUnusable || kind == Trouble::kDeviceGone;
}

std::vector<DeviceTrouble> troubles_of(const api::ResourceClaim& claim, const inventory::Inventory* inventory) {
  std::vector<DeviceTrouble> troubles;
  if (!claim.status.allocation) return troubles;
  const std::string* only = api::only_node(*claim.status.allocation);
  const std::string node = only == nullptr ? "" : *only;
  for (const Allocated& result : claim.status.allocation->results) {
    std::optional<DeviceTrouble> trouble = inventory ? published_trouble(result, node, *inventory) : std::nullopt;
    if (!trouble) trouble = reported_trouble(claim, result);
    if (!trouble) continue;
    trouble->device = result.driver + "/" + result.pool + "/" + result.device;
    troubles.push_back(std::move(*trouble));
  }
  return troubles;
}

std::vector<DeviceTrouble> troubles_of(const api::Pod& pod, const api::ResourceClaim& claim) {
  std::vector<DeviceTrouble> troubles;
  if (pod.terminal() || pod.metadata.ns != claim.metadata.ns ||
      (!is_reserved_for(claim, pod.metadata.uid) && !is_reserved_for_group_of(pod, claim)))
    return troubles;
  for (const api::UnhealthyDevice& device : pod.unhealthy_devices) {
    const auto entry = std::find_if(pod.resource_claims.begin(), pod.resource_claims.end(),
                                    [&](const api::PodResourceClaim& one) { return one.name == device.entry; });
    if (entry == pod.resource_claims.end()) continue;
    const ResolvedClaim resolved = resolve_claim(pod, *entry);
    if (resolved.state != ResolvedClaim::State::kNamed || resolved.name != claim.metadata.name ||
        (resolved.must_check_owner && !is_for_pod(pod, claim)))
      continue;
    const std::string words = device.message.empty() ? "" : ": " + cut(device.message);
    const std::string of = device.request.empty() ? "" : " (request " + cut(device.request) + ")";
    troubles.push_back({Trouble::kUnhealthy, cut(device.id), "its driver reports it as unhealthy" + of + words, ""});
  }
  return troubles;
}

}  // namespace dra::protocol
