// The kinds of resource.k8s.io/v1 as structs: DeviceClass, ResourceClaim, ResourceClaimTemplate, ResourceSlice,
// DeviceTaintRule.
//
// Field names follow the API type (k8s.io/api/resource/v1) in snake_case. A std::optional is a pointer field of the API
// type whose absence differs in meaning from its zero value. Quantities are the text of the wire ("80Gi"), because a
// bad one must reach the inventory, which reports why the pool is unusable; parse them with Quantity
// (pkg/api/quantity.h). Opaque parameters are raw JSON text; large ones of claims are not kept. Lists keep their order.
// v1beta1 and v1beta2 objects are read as v1 (decode/decode.h converts them).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "pkg/api/meta.h"
#include "pkg/api/rare.h"
#include "pkg/api/unknown_fields.h"

namespace dra::api {

inline constexpr std::string_view kDeleteProtectionFinalizer = "resource.kubernetes.io/delete-protection";
inline constexpr std::string_view kPodClaimNameAnnotation = "resource.kubernetes.io/pod-claim-name";
inline constexpr std::string_view kExtendedResourceClaimAnnotation = "resource.kubernetes.io/extended-resource-claim";
inline constexpr size_t kMaxAllocationResults = 32;
// The driver of config entries in which an allocation remembers what its devices are (pkg/identity/record.h).
inline constexpr std::string_view kIdentityDriver = "identity.dra-controller-manager";
inline constexpr size_t kMaxReservedFor = 256;
inline constexpr size_t kMaxAllocationConfigs = 64;  // of an allocation: 32 of classes and 32 of the claim

// ---- ResourceSlice
// -----------------------------------------------------------------------------------------------------------

// A version attribute: semver 2.0.0 text. Its own type, to distinguish it from a plain string in the variant below.
struct VersionText {
  std::string text;
  bool operator==(const VersionText&) const = default;
};

// Exactly one member of the API's union; monostate: none or more than one was set (the device is then unusable).
using DeviceAttribute = std::variant<std::monostate, int64_t, bool, std::string, VersionText, std::vector<int64_t>,
                                     std::vector<bool>, std::vector<std::string>, std::vector<VersionText>>;
// The value is a list (DRAListTypeAttributes).
inline bool is_list(const DeviceAttribute& value) {
  return value.index() >= 5;
}

struct CapacityRange {
  std::string min;
  std::optional<std::string> max;
  std::optional<std::string> step;
  bool operator==(const CapacityRange&) const = default;
};

struct CapacityRequestPolicy {
  std::optional<std::string> default_value;
  std::vector<std::string> valid_values;
  std::optional<CapacityRange> valid_range;
  bool operator==(const CapacityRequestPolicy&) const = default;
};

struct DeviceCapacity {
  std::string value;
  Rare<CapacityRequestPolicy> request_policy;  // most have none, and need no memory for it
  bool operator==(const DeviceCapacity&) const = default;
};

// Counter name -> quantity.
using CounterMap = StringMap;

struct CounterSet {
  std::string name;
  CounterMap counters;
  bool operator==(const CounterSet&) const = default;
};

struct DeviceCounterConsumption {
  std::string counter_set;
  CounterMap counters;
  // DRADeviceCompatibilityGroups: devices in use together on the set must all have one group in common, or all none.
  std::vector<std::string> compatibility_groups{};
  bool operator==(const DeviceCounterConsumption&) const = default;
};

struct DeviceTaint {
  std::string key;
  std::string value;
  std::string effect;  // None, NoSchedule, NoExecute; others come from newer servers
  std::string time_added;
  bool operator==(const DeviceTaint&) const = default;
};

// What one device takes of a resource of its node (KEP-5517, `nodeAllocatableResourceMappings` of 1.36): what it
// consumes of a capacity, or one, times the multiplier.
struct DeviceTake {
  std::string resource;    // "cpu"
  std::string capacity;    // the name in consumedCapacity; empty: none
  std::string multiplier;  // a quantity; empty: 1
  bool operator==(const DeviceTake&) const = default;
};

struct Device {
  std::string name;
  std::map<std::string, DeviceAttribute, std::less<>> attributes;  // key: "name" or "domain/name"
  std::map<std::string, DeviceCapacity, std::less<>> capacity;
  std::vector<DeviceCounterConsumption> consumes_counters;
  std::string node_name;
  std::optional<NodeSelector> node_selector;
  bool all_nodes = false;
  std::vector<DeviceTaint> taints;
  bool binds_to_node = false;
  std::vector<std::string> binding_conditions;
  std::vector<std::string> binding_failure_conditions;
  bool allow_multiple_allocations = false;
  // By name of the resource. The field is in ResourceSlice::unknown as well: whoever does not count it refuses the
  // device. Absent where an entry cannot be read as a whole.
  Rare<std::vector<DeviceTake>> takes_of_node;
  bool operator==(const Device&) const = default;
};

struct ResourcePool {
  std::string name;
  int64_t generation = 0;
  int64_t resource_slice_count = 0;
  bool operator==(const ResourcePool&) const = default;
};

struct ResourceSlice {
  ObjectMeta metadata;
  std::string driver;
  ResourcePool pool;
  // Exactly one of the four is set in a valid slice.
  std::string node_name;
  std::optional<NodeSelector> node_selector;
  bool all_nodes = false;
  bool per_device_node_selection = false;
  std::vector<Device> devices;
  std::vector<CounterSet> shared_counters;
  // DRAPartitionableDevicesType: the attribute by which pool status groups partitions. Allocation does not read it.
  std::string partition_type_attribute;
  // DRAOptionalNodeOperations: what kubelet skips for these devices; copied into results.
  std::vector<std::string> skip_node_operations;
  Rare<UnknownFields> unknown;
  bool operator==(const ResourceSlice&) const = default;
};

// ---- DeviceClass and the parts it shares with claims
// --------------------------------------------------------------------------

struct OpaqueConfig {
  std::string driver;
  std::string parameters_json;
  // Of a claim that was decoded: the parameters are too large to keep (claim_bounds.h), and are those of this entry of
  // spec.devices.config on the server. -1: `parameters_json` has them.
  int32_t at_entry = -1;
  bool operator==(const OpaqueConfig&) const = default;
};

struct DeviceClass {
  ObjectMeta metadata;
  std::vector<std::string> selectors;  // CEL expressions; an entry without cel is ""
  std::vector<OpaqueConfig> config;
  std::optional<std::string> extended_resource_name;
  Rare<UnknownFields> unknown;
};

struct DeviceToleration {
  std::string key;
  std::string op;  // "operator": Equal, Exists; "" means Equal
  std::string value;
  std::string effect;
  std::optional<int64_t> toleration_seconds;
  bool operator==(const DeviceToleration&) const = default;
};

// DRADerivedAttributes: what an expression makes of a device, in the place of the device's own attribute of that name.
struct DerivedAttribute {
  std::string name;        // "domain/identifier"
  std::string expression;  // CEL
  bool operator==(const DerivedAttribute&) const = default;
};

// `exactly` of a request, or one entry of `firstAvailable` (which has a name and no admin access).
struct DeviceSubRequest {
  std::string name;  // only in firstAvailable
  std::string device_class_name;
  std::vector<std::string> selectors;  // CEL expressions
  std::string allocation_mode;         // ExactCount, All; "" as read from an older server means ExactCount
  int64_t count = 0;                   // ExactCount only; 0 as read from an older server means 1
  bool admin_access = false;           // only in exactly
  std::vector<DeviceToleration> tolerations;
  std::map<std::string, std::string, std::less<>> capacity_requests;  // capacity name -> quantity
  Rare<std::vector<DerivedAttribute>> derived_attributes;             // absent: none
  bool operator==(const DeviceSubRequest&) const = default;
};

struct DeviceRequest {
  std::string name;
  std::optional<DeviceSubRequest> exactly;
  std::vector<DeviceSubRequest> first_available;
  bool operator==(const DeviceRequest&) const = default;
};

struct DeviceConstraint {
  std::vector<std::string> requests;  // "req" or "req/sub"; empty: all requests of the claim
  std::optional<std::string> match_attribute;
  std::optional<std::string> distinct_attribute;
  bool operator==(const DeviceConstraint&) const = default;
};

struct DeviceClaimConfig {
  std::vector<std::string> requests;
  std::optional<OpaqueConfig> opaque;
  bool operator==(const DeviceClaimConfig&) const = default;
};

struct ResourceClaimSpec {
  SharedList<DeviceRequest> requests;
  std::vector<DeviceConstraint> constraints;
  std::vector<DeviceClaimConfig> config;
  size_t selector_bytes_dropped = 0;  // claim_bounds.h: above the limit, so every selector is empty
  Rare<UnknownFields> unknown;        // in a template with the paths that its claims have
  bool operator==(const ResourceClaimSpec&) const = default;
};

// ---- ResourceClaim
// -----------------------------------------------------------------------------------------------------------

struct DeviceRequestAllocationResult {
  std::string request;  // "req" or "req/sub"
  std::string driver;
  std::string pool;
  std::string device;
  bool admin_access = false;
  std::vector<DeviceToleration> tolerations;
  std::vector<std::string> binding_conditions;
  std::vector<std::string> binding_failure_conditions;
  std::optional<std::string> share_id;
  std::map<std::string, std::string, std::less<>> consumed_capacity;
  Rare<std::vector<std::string>> skip_node_operations;  // of the slice; absent: none
  bool operator==(const DeviceRequestAllocationResult&) const = default;
};

struct DeviceAllocationConfiguration {
  std::string source;  // FromClass, FromClaim
  std::vector<std::string> requests;
  std::optional<OpaqueConfig> opaque;
  bool operator==(const DeviceAllocationConfiguration&) const = default;
};

struct AllocationResult {
  std::vector<DeviceRequestAllocationResult> results;  // devices.results
  std::vector<DeviceAllocationConfiguration> config;   // devices.config
  std::optional<NodeSelector> node_selector;
  std::string allocation_timestamp;  // empty: not set
  // Of the node selector, if it takes more than kMaxAllocationSelectorBytes (claim_bounds.h): then it has no terms,
  // which matches no node.
  size_t selector_bytes_dropped = 0;
  Rare<UnknownFields> unknown;
  bool operator==(const AllocationResult&) const = default;
};

// The one node on which the allocation can be used, if its selector names exactly one; else nullptr.
inline const std::string* only_node(const AllocationResult& allocation) {
  const auto* names = allocation.node_selector ? named_nodes(*allocation.node_selector) : nullptr;
  return names && names->size() == 1 ? &names->front() : nullptr;
}

struct ResourceClaimConsumerReference {
  std::string api_group;  // "" for pods
  std::string resource;   // "pods"
  std::string name;
  std::string uid;
  // The whole entry, if it has a field that this build does not know: reservedFor is written as a list, and the field
  // must not get lost.
  Rare<std::string> json{};
  bool operator==(const ResourceClaimConsumerReference&) const = default;
};

struct AllocatedDeviceStatus {
  std::string driver;
  std::string pool;
  std::string device;
  std::optional<std::string> share_id;
  std::vector<Condition> conditions;
  bool operator==(const AllocatedDeviceStatus&) const = default;
};

struct ResourceClaimStatus {
  std::optional<AllocationResult> allocation;
  std::vector<ResourceClaimConsumerReference> reserved_for;
  std::vector<AllocatedDeviceStatus> devices;
  bool operator==(const ResourceClaimStatus&) const = default;
};

struct ResourceClaim {
  ObjectMeta metadata;
  ResourceClaimSpec spec;
  ResourceClaimStatus status;
  // Of metadata.finalizers, if they are beyond kMaxFinalizerBytes (claim_bounds.h): then at most ours is kept, which
  // has this place in the list.
  size_t finalizer_bytes_dropped = 0;
  size_t finalizer_at = 0;
  bool operator==(const ResourceClaim&) const = default;
};

struct ResourceClaimTemplate {
  ObjectMeta metadata;
  StringMap claim_labels;       // spec.metadata.labels
  StringMap claim_annotations;  // spec.metadata.annotations
  ResourceClaimSpec spec;       // spec.spec
  std::string spec_json;  // spec.spec as the server sent it: copied whole into claims, so that unknown fields are kept
  size_t bytes_dropped =
      0;  // of spec, if that is beyond kMaxTemplateBytes (claim_bounds.h): then nothing of it is kept
};

// resource.k8s.io/v1 since 1.37, v1beta2 and v1alpha3 in 1.36.
struct DeviceTaintRule {
  ObjectMeta metadata;
  // Without deviceSelector the rule matches nothing; an empty one matches every device. A selector with a field that
  // this version does not know (until 1.34: deviceClassName, selectors) cannot be evaluated here: the rule counts as
  // one without a selector, and `unknown_selector` names the field.
  bool has_selector = false;
  std::string unknown_selector;
  std::optional<std::string> driver;
  std::optional<std::string> pool;
  std::optional<std::string> device;
  DeviceTaint taint;
  std::vector<Condition> conditions;  // status
};

}  // namespace dra::api
