// What is wrong with the devices of an allocated claim, from three sources: the inventory, the driver's report in the
// claim's status.devices, and kubelet's in a pod's status.containerStatuses[].allocatedResourcesStatus (KEP-4680).
//
//   for (const DeviceTrouble& trouble : troubles_of(claim, &inventory)) ...
//
// Only devices of the claim's own allocation are ever named. An entry of status.devices about another device is
// ignored, and so is an entry of a pod's status that does not resolve to the claim. Messages from drivers are cut at
// kMaxDriverWords bytes. Pure; safe from any thread that may read the inventory.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "pkg/api/core.h"
#include "pkg/api/resource.h"
#include "pkg/inventory/inventory.h"

namespace dra::protocol {

inline constexpr size_t kMaxDriverWords = 256;

struct DeviceTrouble {
  enum class Kind : uint8_t {
    kDriverAbsent,  // no slices of the pool
    kPoolUnusable,  // incomplete or invalid
    kDeviceGone,    // the pool is complete, and the device is not in it
    kNotReady,      // condition Ready is False: the driver could not prepare it
    kUnhealthy,     // kubelet reports that the driver calls it so
  };
  Kind kind = Kind::kDeviceGone;
  std::string device;  // DRIVER/POOL/DEVICE; for kUnhealthy the name that kubelet uses
  std::string why;     // a clause: "its driver publishes no slices of the pool"
  std::string since;   // RFC 3339; empty: not reported
};
// "DeviceGone"; labels of metrics, and part of the interface of kubectl-dra.
std::string_view trouble_name(DeviceTrouble::Kind kind);
// Troubles that drivers clear by themselves while they restart or publish again: report them only if they last.
bool may_pass(DeviceTrouble::Kind kind);

// In the order of the allocation's results; for each device the first kind that applies. `inventory` null: slices are
// not known, and only the driver's report counts.
std::vector<DeviceTrouble> troubles_of(const api::ResourceClaim& claim, const inventory::Inventory* inventory);
// What kubelet reports about this claim's devices in the status of a pod that runs with it.
std::vector<DeviceTrouble> troubles_of(const api::Pod& pod, const api::ResourceClaim& claim);

}  // namespace dra::protocol
