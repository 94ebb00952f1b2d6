// Change: something that happened and that handlers of events (event_handler.h) map to keys. Of objects: before is null
// for a new one, after for a deleted one; an object that was replaced under the same name comes as a deletion and an
// addition. Everything that a change points to is valid during the call only.
//
//   std::visit(Cases{[&](const Changed<api::Pod>& pod) { ... }, [](const auto&) {}}, change);
#pragma once

#include <string_view>
#include <variant>

#include "pkg/api/core.h"
#include "pkg/api/prepare_event.h"
#include "pkg/api/resource.h"
#include "pkg/reconcile/effect.h"

namespace dra::reconcile {

template <typename T>
struct Changed {
  const T* before = nullptr;
  const T* after = nullptr;
};

// Only the watch layer changed: it has caught up with an answer, or moved on.
struct StreamedClaim {
  const api::ResourceClaim* before = nullptr;
  const api::ResourceClaim* after = nullptr;
};

// Where volumes can be used. `claim`: the PersistentVolumeClaim that changed ("namespace/name"); empty: a volume, a
// storage class or what a CSI driver reports changed.
struct VolumesChanged {
  std::string_view claim;
};

// A PodGroup was added, changed or deleted, or whether PodGroups can be read. `group`: GroupRef::key() of
// pkg/protocol/groups.h.
struct GroupChanged {
  std::string_view group;
};

// A write of this controller that assumed devices or capacity on a node certainly did not happen: both are free again,
// and no object changed. Unparks only keys parked after the write was decided: keys parked earlier did not fit then
// either, and a write that is refused again and again must not run them again and again.
struct WriteGivenUp {
  const Write& write;
};

// The resources that an assumed pod held on its node are free (Write::release_pod). The watch may have delivered the
// write before; keys that it unparked did not see this capacity yet.
struct CapacityReleased {};

// Devices of the driver can be had that another name of the same silicon, or a device plugin, kept from requests. No
// object of the driver changed.
struct DevicesFreed {
  std::string_view driver;
};

using Change = std::variant<Changed<api::Pod>, Changed<api::ResourceClaim>, StreamedClaim,
                            Changed<api::ResourceClaimTemplate>, Changed<api::Node>, Changed<api::DeviceClass>,
                            Changed<api::ResourceSlice>, Changed<api::DeviceTaintRule>, Changed<api::PrepareEvent>,
                            VolumesChanged, GroupChanged, WriteGivenUp, CapacityReleased, DevicesFreed>;

// A function for each kind of change, for std::visit.
template <typename... F>
struct Cases : F... {
  using F::operator()...;
};
template <typename... F>
Cases(F...) -> Cases<F...>;

}  // namespace dra::reconcile
