// What is kept of the parts of a claim whose size only the API server's limit of an object bounds.
//
// Opaque parameters belong to drivers: here they are only copied into the allocation. Small ones are kept; of the
// others only the place is kept, and the API server copies them (write_allocation() in pkg/reconcile/writes.h).
// Parameters in an allocation are read by nobody here. Selectors beyond the limit are dropped, and the claim is refused
// because of them.
#pragma once

#include <cstddef>

#include "pkg/api/resource.h"

namespace dra::api {

// Bytes of the parameters of one claim that are kept, in the order of the entries.
inline constexpr size_t kMaxKeptParameters = 4096;
// Bytes of the selectors of one claim. The limit of all claims of a pod (kMaxPlanSelectorBytes) is not larger.
inline constexpr size_t kMaxClaimSelectorBytes = size_t{192} << 10;

void drop_beyond_bounds(ResourceClaimSpec& spec);
void drop_beyond_bounds(AllocationResult& allocation);

}  // namespace dra::api
