// Devices with binding conditions (KEP-5007): a driver prepares such a device once it is allocated, and says in the
// claim's status.devices when it is ready, or that it failed. Pure.
//
// The rules are kube-scheduler 1.36's: ready when every binding condition is True and no failure condition is; given up
// when a failure condition is True, or kBindingTimeout after the allocation. Unlike it, nothing is asked again and
// again (a change of the claim brings the pod back), entries are told apart by shareID, and a device that failed is
// avoided for this pod: what failed stands in an annotation of the pod, so that the next leader avoids it, too.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pkg/api/core.h"
#include "pkg/api/resource.h"
#include "pkg/base/clock.h"
#include "pkg/inventory/inventory.h"

namespace dra::allocation {

inline constexpr Duration kBindingTimeout = std::chrono::seconds(600);
// A device that failed is tried again for the pod after this time.
inline constexpr Duration kAvoidDevice = std::chrono::minutes(30);
// Fewer than a node may have that fail, and a pod would go round among these for ever. About 8 KiB as an annotation.
inline constexpr size_t kMaxAvoided = 128;
// "driver/pool/device=<unix seconds>", separated by blanks: until when each is avoided.
inline constexpr std::string_view kAvoidedDevices = "dra-controller-manager/avoided-devices";

struct DevicePreparation {
  enum class State { kReady, kWaits, kFailed };
  State state = State::kReady;
  const api::DeviceRequestAllocationResult* result = nullptr;  // that fails, or else waits
  std::string why;                                             // "condition \"Attached\" is not True"
  std::optional<WallTime> deadline;                            // of those that wait
};
// Of all devices of the claim: failed before waiting before ready.
DevicePreparation preparation_of(const api::ResourceClaim& claim, WallTime now);

struct AvoidedDevice {
  inventory::DeviceName name;
  WallTime until;
};
// Those of the annotation that are avoided now; what cannot be read is left out.
std::vector<AvoidedDevice> avoided_devices(const api::Pod& pod, WallTime now);
// The annotation with one more device; of too many the ones that end first are left out.
std::string avoided_text(std::vector<AvoidedDevice> avoided);

// While it lives nobody gets these devices: they count as held. For the length of one decision.
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
