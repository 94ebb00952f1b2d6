// decode<T>(): JSON text of an API object -> struct, for every kind in meta.h, core.h and resource.h.
//
// Unknown fields are recorded where they count (unknown_fields.h), else skipped; missing and null ones keep the
// default. A value of the wrong JSON type is an error (kInvalidArgument) that names the field, for example
//   spec.devices[3].name: expected a string, got a number
// Nothing else is checked: a struct holds what the server sent. Objects of resource.k8s.io v1beta1 (flat requests,
// `basic` devices) and v1beta2 are read as v1. Safe to call from any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "pkg/api/core.h"
#include "pkg/api/meta.h"
#include "pkg/api/resource.h"
#include "pkg/base/error.h"

namespace dra::api {

// The kinds: those of core.h, storage.h and resource.h (Pod, Node, DeviceClass, ResourceClaim, ResourceSlice,
// PersistentVolumeClaim ...); the parts: ObjectMeta, LabelSelector, NodeSelector, NodeSelectorTerm, ResourceClaimSpec,
// AllocationResult, Container, Device.
template <class T>
Result<T> decode(std::string_view json);

struct ListMeta {
  std::string resource_version;
  std::string continue_token;
  int64_t remaining_item_count = 0;
};

// One page of a list. An item that cannot be decoded is left out of `items` and reported in `errors` ("items[7]
// \"ns/name\": spec...: expected ..."), so that one broken object does not hide the others.
template <class T>
struct DecodedList {
  ListMeta metadata;
  std::vector<T> items;
  std::vector<Error> errors;
  std::vector<std::string> unreadable;  // for each error the item's "ns/name"; empty where that cannot be read either
};

// For the kinds.
template <class T>
Result<DecodedList<T>> decode_list(std::string_view json);

}  // namespace dra::api
