// write(): structs of resource.h (and the parts of meta.h they use) -> JSON text, the inverse of decode<T>(). encode():
// the same alone.
//
// Writes what a client would send: a field with its zero value is left out unless the API type always has it, and a
// claim's `status` is left out when it is empty. Only the fields of the structs are written, so use this for new
// objects, statuses and allocations, never to write back an object that was read. A monostate attribute becomes {};
// opaque parameters are written byte for byte, or as null if they are not JSON. Pure.
#pragma once

#include <string>
#include <utility>

#include "pkg/api/core.h"
#include "pkg/api/meta.h"
#include "pkg/api/resource.h"
#include "pkg/base/json_text.h"

namespace dra::api {

void write(JsonText& out, const ObjectMeta& value);
void write(JsonText& out, const Condition& value);
void write(JsonText& out, const NodeSelectorTerm& value);
void write(JsonText& out, const NodeSelector& value);
void write(JsonText& out, const DeviceTaint& value);
void write(JsonText& out, const DeviceToleration& value);
void write(JsonText& out, const Device& value);
void write(JsonText& out, const DeviceSubRequest& value);
void write(JsonText& out, const ResourceClaimSpec& value);
void write(JsonText& out, const DeviceRequestAllocationResult& value);
void write(JsonText& out, const AllocationResult& value);
void write(JsonText& out, const ResourceClaimConsumerReference& value);
void write(JsonText& out, const ResourceClaimStatus& value);

// With apiVersion resource.k8s.io/v1 (v1beta2 for DeviceTaintRule) and kind.
void write(JsonText& out, const ResourceSlice& value);
void write(JsonText& out, const DeviceClass& value);
void write(JsonText& out, const ResourceClaim& value);
void write(JsonText& out, const DeviceTaintRule& value);
// With apiVersion v1 and kind; the fields of core.h.
void write(JsonText& out, const Node& value);

template <class T>
std::string encode(const T& value) {
  JsonText out;
  write(out, value);
  return std::move(out).text();
}

}  // namespace dra::api
