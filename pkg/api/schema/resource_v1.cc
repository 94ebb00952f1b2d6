#include "pkg/api/schema/tables.h"

namespace dra::api::schema::tables {

// k8s.io/api/resource/v1 of 1.36, and v1beta2, which has the same fields: what differs from v1beta1.
std::string_view resource_v1() {
  return R"(
type ResourceSliceSpec
1 driver string !
2 pool ResourcePool
3 nodeName *string
4 nodeSelector *core/v1.NodeSelector
5 allNodes *bool
6 devices []Device
7 perDeviceNodeSelection *bool
8 sharedCounters []CounterSet

type Device
1 name string !
2 attributes map[string]DeviceAttribute
3 capacity map[string]DeviceCapacity
4 consumesCounters []DeviceCounterConsumption
5 nodeName *string
6 nodeSelector *core/v1.NodeSelector
7 allNodes *bool
8 taints []DeviceTaint
9 bindsToNode *bool
10 bindingConditions []string
11 bindingFailureConditions []string
12 allowMultipleAllocations *bool
13 nodeAllocatableResourceMappings map[string]NodeAllocatableResourceMapping

type DeviceRequest
1 name string !
2 exactly *ExactDeviceRequest
3 firstAvailable []DeviceSubRequest

type ExactDeviceRequest
1 deviceClassName string !
2 selectors []DeviceSelector
3 allocationMode string
4 count int64
5 adminAccess *bool
6 tolerations []DeviceToleration
7 capacity *CapacityRequirements

type DeviceSubRequest
1 name string !
2 deviceClassName string !
3 selectors []DeviceSelector
4 allocationMode string
5 count int64
6 tolerations []DeviceToleration
7 capacity *CapacityRequirements
)";
}

}  // namespace dra::api::schema::tables
