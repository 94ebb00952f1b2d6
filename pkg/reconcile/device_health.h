// What is wrong with the devices of an allocated claim: as the inventory has them, as their driver says in the claim's
// status.devices, and as kubelet says in a pod's status.containerStatuses[].allocatedResourcesStatus (KEP-4680).
//
//   for (const DeviceTrouble& trouble : troubles_of(claim, &inventory)) ...
//
// Only devices of the claim's own allocation are ever named: an entry of status.devices about another device, or of a
// pod's status about an entry that does not resolve to the claim, says nothing. Words of drivers are cut at
// kMaxDriverWords. Pure, safe from any thread that may read the inventory.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "pkg/api/core.h"
#include "pkg/api/resource.h"
#include "pkg/inventory/inventory.h"

namespace dra::reconcile {

inline constexpr size_t kMaxDriverWords = 256;

struct DeviceTrouble {
  enum class Kind : uint8_t {
    kDriverAbsent,  // no slices of the pool
    kPoolUnusable,  // incomplete or invalid
    kDeviceGone,    // the pool is complete, and the device is not in it
    kNotReady,      // condition Ready is False: the driver could not prepare it
    kUnhealthy,     // kubelet passes on that the driver reports it so
  };
  Kind kind = Kind::kDeviceGone;
  std::string device;  // DRIVER/POOL/DEVICE; of kUnhealthy what kubelet calls it
  std::string why;     // a clause: "its driver publishes no slices of the pool"
  std::string since;   // RFC 3339; empty: not said
};
// "DeviceGone"; labels of metrics, and part of the interface of kubectl-dra.
std::string_view trouble_name(DeviceTrouble::Kind kind);
// What drivers put right by themselves while they restart or publish anew: worth telling only once it has lasted.
bool may_pass(DeviceTrouble::Kind kind);

// By the order of the allocation's results, of each device the first kind that applies. `inventory` null: slices are
// not known, and only the driver's words count.
std::vector<DeviceTrouble> troubles_of(const api::ResourceClaim& claim, const inventory::Inventory* inventory);
// What kubelet says about devices of this claim in the status of a pod that is running with it.
std::vector<DeviceTrouble> troubles_of(const api::Pod& pod, const api::ResourceClaim& claim);

}  // namespace dra::reconcile
