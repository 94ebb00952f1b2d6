// Devices with binding conditions (KEP-5007): a driver prepares such a device after its allocation, and reports in the
// claim's status.devices that it is ready or that it failed. Pure.
//
// The rules are kube-scheduler 1.36's: a device is ready when every binding condition is True and no failure condition
// is; it is given up when a failure condition is True, or kBindingTimeout after the allocation. Unlike kube-scheduler,
// we do not poll (a change of the claim requeues the pod), tell entries apart by shareID, and avoid a failed device for
// this pod; an annotation of the pod keeps the failed devices, so that the next leader avoids them too.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pkg/api/core.h"
#include "pkg/api/resource.h"
#include "pkg/base/clock.h"
#include "pkg/base/timestamp.h"
#include "pkg/protocol/avoided.h"

namespace dra::allocation {

inline constexpr Duration kBindingTimeout = std::chrono::seconds(600);

struct DevicePreparation {
  enum class State { kReady, kWaits, kFailed };
  State state = State::kReady;
  const api::DeviceRequestAllocationResult* result = nullptr;  // the one that fails, or else waits
  std::string why;                                             // "condition \"Attached\" is not True"
  std::optional<Timestamp> deadline;                           // the earliest of those that wait
};
// The worst device of the claim: failed before waiting before ready.
DevicePreparation preparation_of(const api::ResourceClaim& claim, WallTime now);

}  // namespace dra::allocation
