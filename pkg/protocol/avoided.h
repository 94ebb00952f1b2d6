// Devices that a pod avoids for a while, because they could not be prepared: for itself (their binding conditions
// failed), which an annotation of the pod keeps, so that the next leader, and kubectl-dra, see it too; for an
// earlier pod of its controller (controllers/recovery), or for pods of several namespaces, which notes keep in memory.
// Pure, except for DevicesHeldBack.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "pkg/api/core.h"
#include "pkg/base/clock.h"
#include "pkg/base/timestamp.h"
#include "pkg/inventory/inventory.h"
#include "pkg/reconcile/view.h"

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
inline constexpr std::string_view kWhyHeldBack = "avoided for this pod, since they could not be prepared";

struct AvoidedDevice {
  inventory::DeviceName name;
  Timestamp until;
  bool operator==(const AvoidedDevice&) const = default;
};
// The topic of notes about owner_key()s; their text is that of the annotation.
inline constexpr std::string_view kAvoidedByOwner = "avoided-devices";
// In the place of an owner: what no pod gets (controllers/recovery/quarantine.h).
inline constexpr std::string_view kQuarantine = "devices-in-quarantine";
// The topic of a note about kQuarantine: those of it that somebody released by hand.
inline constexpr std::string_view kReleasedByHand = "released-by-hand";

// The devices of such a text that are avoided now; unreadable entries are left out.
std::vector<AvoidedDevice> avoided_in(std::string_view text, Timestamp now);
// Those of the annotation.
std::vector<AvoidedDevice> avoided_devices(const api::Pod& pod, Timestamp now);
// Those, and those of the note about the pod's controller. Each once.
std::vector<AvoidedDevice> own_avoided_devices(const reconcile::View& view, const api::Pod& pod);
// Those that nobody gets: of the note those that nobody released.
std::vector<AvoidedDevice> quarantined_devices(const reconcile::View& view);
// Those that were released, whose time is not over.
std::vector<AvoidedDevice> released_devices(const reconcile::View& view);
// Both. Each once.
std::vector<AvoidedDevice> avoided_devices(const reconcile::View& view, const api::Pod& pod);
// Adds those that are not there.
void add_avoided(std::vector<AvoidedDevice> more, std::vector<AvoidedDevice>& avoided);
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
