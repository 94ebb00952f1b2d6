// edit_protobuf_metadata(): changes annotations and finalizers of an object in Kubernetes' protobuf encoding, and keeps
// every other byte of it.
//
//   Result<std::string> body = edit_protobuf_metadata(bytes, "ResourceClaim", {{{"key", "value"}}, finalizers});
//
// The API server re-encodes the JSON inside an object (opaque parameters of a claim) when it applies a patch or reads
// an object in JSON; bytes in protobuf are the only form that it stores as they are.
//
// kInvalidArgument for bytes that are not one object of this kind in its envelope ("k8s\0" and a runtime.Unknown), and
// for messages that an API server never sends: two metadata, two contents. Safe on any bytes, from any thread.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pkg/api/resource.h"
#include "pkg/base/error.h"

namespace dra::api {

struct MetadataEdit {
  // Values to set; no value removes the annotation. Others stay.
  std::map<std::string, std::optional<std::string>, std::less<>> annotations;
  // The complete list; nothing leaves the object's as it is.
  std::optional<std::vector<std::string>> finalizers;
  // Without `finalizers`, changes of the object's own list, as a JSON patch makes them: the one at this index goes,
  // this one is added at the end.
  std::optional<size_t> remove_finalizer_at;
  std::optional<std::string> append_finalizer;
};

Result<std::string> edit_protobuf_metadata(std::string_view bytes, std::string_view kind, const MetadataEdit& edit);

// The same for the reservations of a ResourceClaim that has a status: replaces status.reservedFor.
Result<std::string> edit_protobuf_consumers(std::string_view bytes,
                                            const std::vector<ResourceClaimConsumerReference>& consumers);

}  // namespace dra::api
