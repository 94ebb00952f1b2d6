#include "pkg/api/schema/tables.h"

namespace dra::api::schema::tables {

// k8s.io/api/resource/v1beta1 of 1.36: what differs from v1.
std::string_view resource_v1beta1() {
  return R"(
type ResourceSliceSpec
1 driver string !
2 pool ResourcePool
3 nodeName string
4 nodeSelector *core/v1.NodeSelector
5 allNodes bool
6 devices []Device
7 perDeviceNodeSelection *bool
8 sharedCounters []CounterSet

type Device
1 name string !
2 basic *BasicDevice

type BasicDevice
1 attributes map[string]DeviceAttribute
2 capacity map[string]DeviceCapacity
3 consumesCounters []DeviceCounterConsumption
4 nodeName *string
5 nodeSelector *core/v1.NodeSelector
6 allNodes *bool
7 taints []DeviceTaint
8 bindsToNode *bool
9 bindingConditions []string
10 bindingFailureConditions []string
11 allowMultipleAllocations *bool
12 nodeAllocatableResourceMappings map[string]NodeAllocatableResourceMapping

type DeviceRequest
1 name string !
2 deviceClassName string !
3 selectors []DeviceSelector
4 allocationMode string
5 count int64
6 adminAccess *bool
7 firstAvailable []DeviceSubRequest
8 tolerations []DeviceToleration
9 capacity *CapacityRequirements

type DeviceSubRequest
1 name string !
2 deviceClassName string !
3 selectors []DeviceSelector
4 allocationMode string
5 count int64
7 tolerations []DeviceToleration
8 capacity *CapacityRequirements
)";
}

}  // namespace dra::api::schema::tables
