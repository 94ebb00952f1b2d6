// What parked pods wait for, as the causes under which they park (pkg/reconcile/parking.h). Pure.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "pkg/api/resource.h"
#include "pkg/reconcile/effect.h"

namespace dra::allocation {

inline constexpr std::string_view kNodesCause = "nodes";    // a node changed, or capacity on one was freed
inline constexpr std::string_view kSlicesCause = "slices";  // some ResourceSlice changed

reconcile::Cause class_cause(std::string_view name);
reconcile::Cause driver_cause(std::string_view driver);
// One cause for each class that the claim's requests and alternatives name.
void add_class_causes(const api::ResourceClaimSpec& spec, std::set<reconcile::Cause>& out);
// One cause for each driver whose devices the allocation holds.
void add_driver_causes(const api::AllocationResult& allocation, std::set<reconcile::Cause>& out);

}  // namespace dra::allocation
