#include "pkg/api/schema/tables.h"

namespace dra::api::schema::tables {

// k8s.io/api/resource of 1.37: what the release added. The numbers of partitionTypeAttribute, skipNodeOperations and
// nodeAllocatableResources are those of generated.proto; those of compatibilityGroups and derivedAttributes, which were
// merged later, have not been seen, so nothing reads them as protobuf (pkg/api/decode/unknown_rules.cc).
std::string_view resource_137_shared() {
  return R"(
type DeviceDerivedAttribute
1 name string !
2 expression string !

type NodeAllocatableMapping
1 capacityKey *string
2 capacityMultiplier *Quantity
3 deviceMultiplier *Quantity

type NodeAllocatableOverhead
1 perPod *Quantity
2 perContainer *Quantity

type NodeAllocatableResource
3 mapping *NodeAllocatableMapping
4 overhead *NodeAllocatableOverhead

extend ResourceSliceSpec
9 partitionTypeAttribute *string
10 skipNodeOperations []string set

extend DeviceCounterConsumption
3 compatibilityGroups []string

extend DeviceRequestAllocationResult
11 skipNodeOperations []string set
)";
}

std::string_view resource_137_v1() {
  return R"(
extend Device
14 nodeAllocatableResources map[string]NodeAllocatableResource

extend ExactDeviceRequest
8 derivedAttributes []DeviceDerivedAttribute

extend DeviceSubRequest
8 derivedAttributes []DeviceDerivedAttribute
)";
}

std::string_view resource_137_v1beta1() {
  return R"(
extend BasicDevice
14 nodeAllocatableResources map[string]NodeAllocatableResource

extend DeviceRequest
10 derivedAttributes []DeviceDerivedAttribute

extend DeviceSubRequest
9 derivedAttributes []DeviceDerivedAttribute
)";
}

}  // namespace dra::api::schema::tables
