// What is kept of the parts of a claim whose size only the API server's limit of an object bounds.
//
// Opaque parameters belong to drivers: here they are only copied into the allocation. Small ones are kept; of the
// others only the place is kept, and the API server copies them (write_allocation() in pkg/protocol/writes.h).
// Parameters in an allocation are read by nobody here, but those of kIdentityDriver are, and are kept. Selectors beyond
// the limit are dropped, and the claim is refused because of them. The node selector of an allocation beyond its limit
// is replaced by one that matches no node: the devices stay in use, and no pod is placed as if it could reach them.
#pragma once

#include <cstddef>

#include "pkg/api/resource.h"

namespace dra::api {

// Bytes of the parameters of one claim that are kept, in the order of the entries.
inline constexpr size_t kMaxKeptParameters = 4096;
// Bytes of the selectors and derived attributes of one claim. The limit of all claims of a pod (kMaxPlanSelectorBytes)
// is not larger.
inline constexpr size_t kMaxClaimSelectorBytes = size_t{192} << 10;
// Bytes of the finalizers of one claim. Beyond it, the claim is not allocated.
inline constexpr size_t kMaxFinalizerBytes = size_t{4} << 10;
// Bytes of spec of a ResourceClaimTemplate: what is copied into claims as it is, and their labels and annotations.
// Nothing is kept of a larger one, and a pod that names it gets an event instead of a claim.
inline constexpr size_t kMaxTemplateBytes = size_t{64} << 10;

// Bytes of a reason or message in a condition of status.devices: drivers write them for people.
inline constexpr size_t kMaxDeviceConditionText = 256;

// Bytes of the node selector of an allocation, as bytes_of() counts them: some 800 nodes by names of 40 letters. The
// API server limits neither its terms nor requirements nor values.
inline constexpr size_t kMaxAllocationSelectorBytes = size_t{64} << 10;

// The memory of a selector: its texts, and so much for each term, requirement and value.
size_t bytes_of(const NodeSelector& selector);

void drop_beyond_bounds(ResourceClaim& claim);
void drop_beyond_bounds(ResourceClaimSpec& spec);
void drop_beyond_bounds(AllocationResult& allocation);
void drop_beyond_bounds(AllocatedDeviceStatus& status);
void drop_beyond_bounds(ResourceClaimTemplate& claim_template);

}  // namespace dra::api
