#include "controllers/allocation/bind/bind_conditions.h"

#include <algorithm>

#include "controllers/allocation/bind/bind_steps.h"
#include "pkg/base/strings.h"
#include "pkg/protocol/writes.h"

namespace dra::allocation {

using namespace protocol;
using namespace reconcile;

namespace {

const api::AllocatedDeviceStatus* status_of(const api::ResourceClaim& claim,
                                            const api::DeviceRequestAllocationResult& result) {
  for (const api::AllocatedDeviceStatus& status : claim.status.devices)
    if (status.driver == result.driver && status.pool == result.pool && status.device == result.device &&
        status.share_id == result.share_id)
      return &status;
  return nullptr;
}

const api::Condition* condition_of(const api::AllocatedDeviceStatus* status, const std::string& type) {
  if (!status) return nullptr;
  for (const api::Condition& condition : status->conditions)
    if (condition.type == type) return &condition;
  return nullptr;
}

bool is_true(const api::Condition* condition) {
  return condition && condition->status == "True";
}

// Adds the driver's message about a condition, if there is one.
std::string with_message(std::string text, const api::Condition* condition) {
  constexpr size_t kShown = 256;
  if (condition && !condition->message.empty()) text += ": " + condition->message.substr(0, kShown);
  return text;
}

DevicePreparation judge_device(const api::ResourceClaim& claim, const api::DeviceRequestAllocationResult& result,
                               WallTime now) {
  using Readiness = DevicePreparation::State;
  const api::AllocatedDeviceStatus* status = status_of(claim, result);
  for (const std::string& type : result.binding_failure_conditions)
    if (const api::Condition* condition = condition_of(status, type); is_true(condition))
      return {Readiness::kFailed, &result, with_message("condition " + quote(type) + " is True", condition), {}};
  for (const std::string& type : result.binding_conditions) {
    const api::Condition* condition = condition_of(status, type);
    if (is_true(condition)) continue;
    const std::string why = with_message("condition " + quote(type) + " is not True", condition);
    Timestamp allocated;
    // Without a readable allocation time (we always write one) there is no start time to count from.
    if (!parse_rfc3339(claim.status.allocation->allocation_timestamp, allocated))
      return {Readiness::kWaits, &result, why, {}};
    if (now >= allocated + kBindingTimeout) return {Readiness::kFailed, &result, why + " after ten minutes", {}};
    return {Readiness::kWaits, &result, why, allocated + kBindingTimeout};
  }
  return {};
}

std::string device_text(const api::DeviceRequestAllocationResult& result) {
  return result.driver + "/" + result.pool + "/" + result.device;
}

}  // namespace

DevicePreparation preparation_of(const api::ResourceClaim& claim, WallTime now) {
  DevicePreparation worst;
  if (!claim.status.allocation) return worst;
  std::optional<Timestamp> first_deadline;
  for (const api::DeviceRequestAllocationResult& result : claim.status.allocation->results) {
    if (result.binding_conditions.empty()) continue;
    DevicePreparation one = judge_device(claim, result, now);
    if (one.deadline && (!first_deadline || *one.deadline < *first_deadline)) first_deadline = one.deadline;
    if (one.state > worst.state) worst = std::move(one);
  }
  if (worst.state == DevicePreparation::State::kWaits) worst.deadline = first_deadline;
  return worst;
}

StepAnswer bind_conditions(const BindContext& context) {
  using Readiness = DevicePreparation::State;
  const WallTime now = context.view.now();
  StepAnswer answer = StepAnswer::done();
  std::optional<Timestamp> deadline;
  for (const protocol::ClaimState& state : context.state.claims) {
    if (state.proven) continue;  // was ready then, and can no longer be withdrawn
    const DevicePreparation preparation = preparation_of(*state.claim, now);
    if (preparation.state == Readiness::kReady) continue;
    const std::string what = "device " + device_text(*preparation.result) + " of claim \"" +
                             state.claim->metadata.key() + "\": " + preparation.why;
    if (preparation.state == Readiness::kWaits) {
      if (answer.kind == StepAnswer::Kind::kDone)
        answer = StepAnswer::wait("BindingConditionsPending", "waits on node " + context.node + " for " + what);
      if (preparation.deadline && (!deadline || *preparation.deadline < *deadline)) deadline = preparation.deadline;
      // The driver's next write requeues the pod: only the deadline needs a timer.
      if (deadline) answer.requeue_after = *deadline - now;
      continue;
    }
    if (!state.ours) return StepAnswer::wait("BindingConditionsFailed", what + "; others allocated it");
    answer = StepAnswer::give_up("BindingConditionsFailed", what + "; other devices are tried");
    // The devices are at fault, not the node.
    answer.avoid_node = Duration::zero();
    std::vector<AvoidedDevice> avoided = avoided_devices(context.pod, now);
    const inventory::DeviceName name{preparation.result->driver, preparation.result->pool, preparation.result->device};
    if (std::any_of(avoided.begin(), avoided.end(), [&](const AvoidedDevice& one) { return one.name == name; }))
      return answer;
    avoided.push_back({name, now + kAvoidDevice});
    answer.writes.push_back(
        write_pod_annotation(context.pod, kAvoidedDevices, avoided_text(std::move(avoided)), "avoid-device"));
    return answer;
  }
  return answer;
}

}  // namespace dra::allocation
