// Explain: visits all devices to find why each of them did not fit. Only used after a failure.
#pragma once

#include "pkg/allocator/explain/device_counts.h"
#include "pkg/allocator/plan/plan.h"
#include "pkg/allocator/reasons.h"

namespace dra::allocator {

Reasons explain_plan(const Plan& plan, const ExplainScope& scope, inventory::DeviceIndex& device_index,
                     Selectors& selectors, Filters& filters, DeviceCountsByFilter& counts_by_filter, Meter& meter);

}  // namespace dra::allocator
