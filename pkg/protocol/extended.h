// Extended resources that a DeviceClass provides (KEP-5004): containers ask for "example.com/gpu" in their resources,
// and spec.resourceClaims names nothing.
//
// On a node whose device plugin advertises the resource (status.allocatable above zero), kubelet serves it as it always
// did. For every other node kube-scheduler creates and allocates a claim of its own at binding time; nobody can prove
// that allocation before it is used, and kube-scheduler 1.36 deletes claims that others create for such a pod. So our
// gate is lifted towards nodes of the first kind only.
//
// Rules: kube-scheduler 1.36's extended resource cache. An explicit spec.extendedResourceName belongs to the newest
// class that has it, ties to the smaller name; "deviceclass.resource.kubernetes.io/<class>" always to that class. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "pkg/api/core.h"
#include "pkg/reconcile/view.h"

namespace dra::protocol {

inline constexpr std::string_view kImplicitResourcePrefix = "deviceclass.resource.kubernetes.io/";

struct ExtendedResource {
  std::string name;
  std::string device_class;
  bool operator==(const ExtendedResource&) const = default;
};

// The extended resources of which the pod asks for more than zero, in containers, init containers, sidecars or for the
// whole pod, and which a class provides. Sorted by name, without duplicates.
std::vector<ExtendedResource> extended_resources_of(const reconcile::View& view, const api::Pod& pod);
// As above, where `classes` are all classes.
std::vector<ExtendedResource> extended_resources_of(const std::vector<const api::DeviceClass*>& classes,
                                                    const api::Pod& pod);
// Whether the node's device plugins advertise all of them.
bool advertises(const api::Node& node, const std::vector<ExtendedResource>& resources);

}  // namespace dra::protocol
