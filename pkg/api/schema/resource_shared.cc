#include "pkg/api/schema/tables.h"

namespace dra::api::schema::tables {

// k8s.io/api/resource of 1.36: the types that are the same in v1, v1beta2 and v1beta1.
std::string_view resource_shared() {
  return R"(
type ResourceSlice
1 metadata ObjectMeta
2 spec ResourceSliceSpec

type CounterSet
1 name string !
2 counters map[string]Counter

type ResourcePool
1 name string !
2 generation int64 !
3 resourceSliceCount int64 !

type NodeAllocatableResourceMapping
1 capacityKey *string
2 allocationMultiplier *Quantity

type DeviceCounterConsumption
1 counterSet string !
2 counters map[string]Counter

type DeviceCapacity
1 value Quantity !
2 requestPolicy *CapacityRequestPolicy

type Counter
1 value Quantity !

type CapacityRequestPolicy
1 default *Quantity !
3 validValues []Quantity
4 validRange *CapacityRequestPolicyRange

type CapacityRequestPolicyRange
1 min *Quantity
2 max *Quantity
3 step *Quantity

type DeviceAttribute
2 int *int64
3 bool *bool
4 string *string
5 version *string
6 ints []int64
7 bools []bool
8 strings []string
9 versions []string

type DeviceTaint
1 key string !
2 value string
3 effect string !
4 timeAdded *Time

type ResourceClaim
1 metadata ObjectMeta
2 spec ResourceClaimSpec
3 status ResourceClaimStatus

type ResourceClaimSpec
1 devices DeviceClaim

type DeviceClaim
1 requests []DeviceRequest !
2 constraints []DeviceConstraint
3 config []DeviceClaimConfiguration

type CapacityRequirements
1 requests map[string]Quantity

type DeviceSelector
1 cel *CELDeviceSelector

type CELDeviceSelector
1 expression string !

type DeviceConstraint
1 requests []string
2 matchAttribute *string
3 distinctAttribute *string

type DeviceClaimConfiguration
1 requests []string
2 deviceConfiguration DeviceConfiguration inline

type DeviceConfiguration
1 opaque *OpaqueDeviceConfiguration

type OpaqueDeviceConfiguration
1 driver string !
2 parameters Raw !

type DeviceToleration
1 key string
2 operator string
3 value string
4 effect string
5 tolerationSeconds *int64

type ResourceClaimStatus
1 allocation *AllocationResult
2 reservedFor []ResourceClaimConsumerReference map=uid merge=uid
4 devices []AllocatedDeviceStatus map=driver,device,pool,shareID

type ResourceClaimConsumerReference
1 apiGroup string
3 resource string !
4 name string !
5 uid string !

type AllocationResult
1 devices DeviceAllocationResult
3 nodeSelector *core/v1.NodeSelector
5 allocationTimestamp *Time

type DeviceAllocationResult
1 results []DeviceRequestAllocationResult
2 config []DeviceAllocationConfiguration

type DeviceRequestAllocationResult
1 request string !
2 driver string !
3 pool string !
4 device string !
5 adminAccess *bool
6 tolerations []DeviceToleration
7 bindingConditions []string
8 bindingFailureConditions []string
9 shareID *string
10 consumedCapacity map[string]Quantity

type DeviceAllocationConfiguration
1 source string !
2 requests []string
3 deviceConfiguration DeviceConfiguration inline

type DeviceClass
1 metadata ObjectMeta
2 spec DeviceClassSpec

type DeviceClassSpec
1 selectors []DeviceSelector
2 config []DeviceClassConfiguration
4 extendedResourceName *string

type DeviceClassConfiguration
1 deviceConfiguration DeviceConfiguration inline

type ResourceClaimTemplate
1 metadata ObjectMeta
2 spec ResourceClaimTemplateSpec

type ResourceClaimTemplateSpec
1 metadata ObjectMeta
2 spec ResourceClaimSpec

type AllocatedDeviceStatus
1 driver string !
2 pool string !
3 device string !
7 shareID *string
4 conditions []Condition ! map=type
5 data *Raw
6 networkData *NetworkDeviceData

type NetworkDeviceData
1 interfaceName string
2 ips []string
3 hardwareAddress string
)";
}

}  // namespace dra::api::schema::tables
