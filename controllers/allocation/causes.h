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
// Something that a pod took of a node is free again: only for pods that some node refused for what others have there.
inline constexpr std::string_view kRoomCause = "room";
// A pod came onto a node, or one there changed in what affinity and spreading read. Who waits for it waits for
// kRoomCause, too, which is woken when a pod leaves a node.
inline constexpr std::string_view kPodsCause = "pods";
// A volume, a storage class or what a CSI driver reports changed, for pods with PersistentVolumeClaims.
inline constexpr std::string_view kVolumesCause = "volumes";
inline constexpr std::string_view kSlicesCause = "slices";  // some ResourceSlice changed, of whatever driver

reconcile::Cause class_cause(std::string_view name);
reconcile::Cause driver_cause(std::string_view driver);
// The classes that the claim's requests and alternatives name.
std::set<std::string> classes_of(const api::ResourceClaimSpec& spec);
// One cause for each of them.
void add_class_causes(const api::ResourceClaimSpec& spec, std::set<reconcile::Cause>& out);
// The one driver whose devices the class can choose: one of its selectors is `device.driver == "x"`, alone or as the
// first of a conjunction. Nothing where that is not plain from the text.
std::optional<std::string> only_driver(const api::DeviceClass& device_class);
// One cause for each driver whose devices the allocation holds.
void add_driver_causes(const api::AllocationResult& allocation, std::set<reconcile::Cause>& out);

}  // namespace dra::allocation
