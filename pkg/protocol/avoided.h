// Devices that a pod avoids for a while, because their binding conditions failed for it: an annotation of the pod keeps
// them, so that the next leader, and kubectl-dra, see them too. Pure, except for DevicesHeldBack.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "pkg/api/core.h"
#include "pkg/base/clock.h"
#include "pkg/base/timestamp.h"
#include "pkg/inventory/inventory.h"

namespace dra::protocol {

// A failed device is tried again for the pod after this time.
inline constexpr Duration kAvoidDevice = std::chrono::minutes(30);
// With fewer than the failing devices of a node a pod would try those forever. About 8 KiB as an annotation.
inline constexpr size_t kMaxAvoided = 128;
// "driver/pool/device=<unix seconds>", separated by blanks: until when to avoid each device.
inline constexpr std::string_view kAvoidedDevices = "dra-controller-manager/avoided-devices";
// As whose the devices count while they are held back; not the uid of a claim.
inline constexpr std::string_view kHeldBack = "devices-held-back";
// What is wrong with them, after their number.
inline constexpr std::string_view kWhyHeldBack = "avoided for this pod, since their binding conditions failed";

struct AvoidedDevice {
  inventory::DeviceName name;
  Timestamp until;
};
// The annotation's devices that are avoided now; unreadable entries are left out.
std::vector<AvoidedDevice> avoided_devices(const api::Pod& pod, Timestamp now);
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

}  // namespace dra::protocol
