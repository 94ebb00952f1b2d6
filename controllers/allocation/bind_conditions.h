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
#include "pkg/inventory/inventory.h"

namespace dra::allocation {

inline constexpr Duration kBindingTimeout = std::chrono::seconds(600);
// A failed device is tried again for the pod after this time.
inline constexpr Duration kAvoidDevice = std::chrono::minutes(30);
// With fewer than the failing devices of a node a pod would try those forever. About 8 KiB as an annotation.
inline constexpr size_t kMaxAvoided = 128;
// "driver/pool/device=<unix seconds>", separated by blanks: until when to avoid each device.
inline constexpr std::string_view kAvoidedDevices = "dra-controller-manager/avoided-devices";

struct DevicePreparation {
  enum class State { kReady, kWaits, kFailed };
  State state = State::kReady;
  const api::DeviceRequestAllocationResult* result = nullptr;  // the one that fails, or else waits
  std::string why;                                             // "condition \"Attached\" is not True"
  std::optional<Timestamp> deadline;                           // the earliest of those that wait
};
// The worst device of the claim: failed before waiting before ready.
DevicePreparation preparation_of(const api::ResourceClaim& claim, WallTime now);

struct AvoidedDevice {
  inventory::DeviceName name;
  WallTime until;
};
// The annotation's devices that are avoided now; unreadable entries are left out.
std::vector<AvoidedDevice> avoided_devices(const api::Pod& pod, WallTime now);
// The annotation's value; if there are too many, it leaves out those that end first.
std::string avoided_text(std::vector<AvoidedDevice> avoided);

// While it lives the devices count as held, so nobody is allocated them. Lives for one decision.
class DevicesHeldBack {
 public:
  DevicesHeldBack(inventory::Inventory& inventory, const std::vector<AvoidedDevice>& avoided);
  ~DevicesHeldBack();
  DevicesHeldBack(const DevicesHeldBack&) = delete;
  DevicesHeldBack& operator=(const DevicesHeldBack&) = delete;

 private:
  inventory::Inventory& inventory_;
  bool any_;
};

}  // namespace dra::allocation
