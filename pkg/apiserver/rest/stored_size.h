// What etcd accepts of one object: kube-apiserver stores objects in protobuf, and etcd refuses requests above 1.5 MiB.
// Source: etcd's --max-request-bytes, and kube-apiserver's handlers of create, update and patch (isTooLargeError).
#pragma once

#include <string>

#include "pkg/apiserver/rest/call.h"

namespace dra::apiserver {

// 500 if the object is too large, as a real server answers. One that fits without managedFields loses them. `key` is
// the object's key in its table.
StatusOr<void> fit_into_storage(const Kind& kind, const std::string& key, Json& object);

}  // namespace dra::apiserver
