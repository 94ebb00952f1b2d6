// encode(): structs of resource.h (and the parts of meta.h they use) -> JSON, the inverse of decode<T>().
//
// Writes what a client would send: a field with its zero value is left out unless the API type always has it, and a
// claim's `status` is left out when it is empty. Only the fields of the structs are written, so use this for new
// objects, statuses and allocations, never to write back an object that was read. A monostate attribute becomes {}, and
// raw JSON text that does not parse becomes null. Pure.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "pkg/api/core.h"
#include "pkg/api/meta.h"
#include "pkg/api/resource.h"

namespace dra::api {

nlohmann::json to_json(const ObjectMeta& value);
nlohmann::json to_json(const Condition& value);
nlohmann::json to_json(const NodeSelectorTerm& value);
nlohmann::json to_json(const NodeSelector& value);
nlohmann::json to_json(const DeviceTaint& value);
nlohmann::json to_json(const DeviceToleration& value);
nlohmann::json to_json(const Device& value);
nlohmann::json to_json(const DeviceSubRequest& value);
nlohmann::json to_json(const ResourceClaimSpec& value);
nlohmann::json to_json(const DeviceRequestAllocationResult& value);
nlohmann::json to_json(const AllocationResult& value);
nlohmann::json to_json(const ResourceClaimConsumerReference& value);
nlohmann::json to_json(const ResourceClaimStatus& value);

// With apiVersion resource.k8s.io/v1 (v1beta2 for DeviceTaintRule) and kind.
nlohmann::json to_json(const ResourceSlice& value);
nlohmann::json to_json(const DeviceClass& value);
nlohmann::json to_json(const ResourceClaim& value);
nlohmann::json to_json(const DeviceTaintRule& value);
// With apiVersion v1 and kind; the fields of core.h.
nlohmann::json to_json(const Node& value);

// The same as compact text.
std::string encode(const AllocationResult& value);
std::string encode(const ResourceClaimStatus& value);
std::string encode(const ResourceClaimSpec& value);
std::string encode(const NodeSelector& value);
std::string encode(const ResourceSlice& value);
std::string encode(const DeviceClass& value);
std::string encode(const ResourceClaim& value);
std::string encode(const DeviceTaintRule& value);
std::string encode(const Node& value);

}  // namespace dra::api
