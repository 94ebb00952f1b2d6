// What parked pods wait for, as the causes under which they park (pkg/reconcile/parking.h). Pure.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "pkg/api/resource.h"
#include "pkg/reconcile/effect.h"

namespace dra::allocation {

inline constexpr std::string_view kNodesCause = "nodes";  // a node came or changed
// A pod freed capacity of a node: only for pods that some node refused because of what others use there.
inline constexpr std::string_view kCapacityCause = "capacity";
// A pod came onto a node, or changed there in what affinity and spreading read. A pod that waits for this also waits
// for kCapacityCause, which is unparked when a pod leaves a node.
inline constexpr std::string_view kPodsCause = "pods";
// A volume, a storage class or a CSI driver's report changed: for pods with PersistentVolumeClaims.
inline constexpr std::string_view kVolumesCause = "volumes";
inline constexpr std::string_view kSlicesCause = "slices";  // any ResourceSlice changed, of any driver

reconcile::Cause class_cause(std::string_view name);
reconcile::Cause driver_cause(std::string_view driver);
// The classes that the claim's requests and alternatives name.
std::set<std::string> classes_of(const api::ResourceClaimSpec& spec);
// Adds one cause for each of them.
void add_class_causes(const api::ResourceClaimSpec& spec, std::set<reconcile::Cause>& out);
// A request, or an alternative of one, has allocation mode All.
bool asks_for_all(const api::ResourceClaimSpec& spec);
// The only driver whose devices the class can choose: one of its selectors is `device.driver == "x"`, alone or as the
// first of a conjunction. Nothing when the text does not show it.
std::optional<std::string> only_driver(const api::DeviceClass& device_class);
// Adds one cause for each driver whose devices are in the allocation.
void add_driver_causes(const api::AllocationResult& allocation, std::set<reconcile::Cause>& out);

}  // namespace dra::allocation
