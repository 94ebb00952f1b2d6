#include "pkg/inspect/source/redact_rules.h"

#include <map>
#include <string>

namespace dra::inspect {
namespace {

using api::schema::Field;
using api::schema::ObjectType;
using Rules = std::map<std::string_view, Word>;

// Where the table of a kind belongs to another package: what this project reads of it.
constexpr std::string_view kMoreTypes = R"(
type DeviceTaintRule
1 metadata ObjectMeta
2 spec DeviceTaintRuleSpec
3 status DeviceTaintRuleStatus

type DeviceTaintRuleSpec
1 deviceSelector *DeviceTaintSelector
2 taint resource/v1.DeviceTaint

type DeviceTaintSelector
1 deviceClassName *string
2 driver *string
3 pool *string
4 device *string

type DeviceTaintRuleStatus
1 conditions []Condition

type Lease
1 metadata ObjectMeta
2 spec LeaseSpec

type LeaseSpec
1 holderIdentity *string
2 leaseDurationSeconds *int32
3 acquireTime *MicroTime
4 renewTime *MicroTime
5 leaseTransitions *int32
6 strategy *string
7 preferredHolder *string

type ResourceQuota
1 metadata ObjectMeta
2 spec ResourceQuotaSpec
3 status ResourceQuotaStatus

type ResourceQuotaSpec
1 hard map[string]Quantity
2 scopes []string
3 scopeSelector *ScopeSelector

type ResourceQuotaStatus
1 hard map[string]Quantity
2 used map[string]Quantity

type ScopeSelector
1 matchExpressions []ScopedResourceSelectorRequirement

type ScopedResourceSelectorRequirement
1 scopeName string
2 operator string
3 values []string

type PodDisruptionBudget
1 metadata ObjectMeta
2 spec PodDisruptionBudgetSpec
3 status PodDisruptionBudgetStatus

type PodDisruptionBudgetSpec
1 selector *LabelSelector
2 unhealthyPodEvictionPolicy *string

type PodDisruptionBudgetStatus
1 observedGeneration *int64
2 disruptedPods map[string]Time
3 disruptionsAllowed int32
4 currentHealthy int32
5 desiredHealthy int32

type PriorityClass
1 metadata ObjectMeta
2 value int32
3 globalDefault bool
4 preemptionPolicy *string

type Job
1 metadata ObjectMeta
2 spec JobSpec

type JobSpec
1 podReplacementPolicy *string

type PodGroup
1 metadata ObjectMeta
2 spec PodGroupSpec
3 status PodGroupStatus

type PodGroupSpec
1 podGroupTemplateRef Raw
2 workloadRef Raw
3 schedulingPolicy *PodGroupSchedulingPolicy
4 schedulingConstraints *PodGroupSchedulingConstraints
5 resourceClaims []PodGroupResourceClaim
6 disruptionMode string
7 priorityClassName string
8 priority *int32
9 preemptionPolicy Raw
10 minMember int32
11 minResources Raw
12 scheduleTimeoutSeconds *int32

type PodGroupSchedulingPolicy
1 basic *BasicSchedulingPolicy
2 gang *GangSchedulingPolicy

type BasicSchedulingPolicy

type GangSchedulingPolicy
1 minCount int32

type PodGroupSchedulingConstraints
1 topology []TopologyConstraint

type TopologyConstraint
1 key string

type PodGroupResourceClaim
1 name string
2 resourceClaimName *string
3 resourceClaimTemplateName *string

type PodGroupStatus
1 conditions []Condition
2 resourceClaimStatuses []PodGroupResourceClaimStatus

type PodGroupResourceClaimStatus
1 name string
2 resourceClaimName *string
)";

const api::schema::SchemaSet& redacted_schemas() {
  static const api::schema::SchemaSet all = [] {
    std::vector<api::schema::SchemaTable> tables = api::schema::tables_in_use();
    tables.push_back({"redacted/v1", kMoreTypes});
    return api::schema::link_tables(tables);
  }();
  return all;
}

const Rules& rules_of_metadata() {
  static const Rules kRules{
      {"ObjectMeta.name", Word::kObject},
      {"ObjectMeta.namespace", Word::kNamespace},
      {"ObjectMeta.uid", Word::kUid},
      {"ObjectMeta.resourceVersion", Word::kDigits},
      {"ObjectMeta.labels", Word::kValue},
      {"ObjectMeta.finalizers", Word::kKey},
      {"OwnerReference.apiVersion", Word::kApi},
      {"OwnerReference.kind", Word::kApi},
      {"OwnerReference.name", Word::kOwner},
      {"OwnerReference.uid", Word::kUid},
      {"ManagedFieldsEntry.manager", Word::kManager},
      {"ManagedFieldsEntry.operation", Word::kApi},
      {"ManagedFieldsEntry.apiVersion", Word::kApi},
      {"ManagedFieldsEntry.fieldsType", Word::kApi},
      {"ManagedFieldsEntry.subresource", Word::kApi},
      {"LabelSelector.matchLabels", Word::kValue},
      {"LabelSelectorRequirement.key", Word::kKey},
      {"LabelSelectorRequirement.operator", Word::kApi},
      {"LabelSelectorRequirement.values", Word::kMentioned},
      {"NodeSelectorRequirement.key", Word::kKey},
      {"NodeSelectorRequirement.operator", Word::kApi},
      {"NodeSelectorRequirement.values", Word::kMentioned},
  };
  return kRules;
}

// Of a type Condition, NodeCondition, PodCondition, NamespaceCondition.
const Rules& rules_of_conditions() {
  static const Rules kRules{
      {"type", Word::kCondition}, {"status", Word::kApi}, {"reason", Word::kApi}, {"message", Word::kMessage}};
  return kRules;
}

const Rules& rules_of_pods() {
  static const Rules kRules{
      {"PodSpec.nodeName", Word::kNode},
      {"PodSpec.schedulerName", Word::kScheduler},
      {"PodSpec.restartPolicy", Word::kApi},
      {"PodSpec.nodeSelector", Word::kValue},
      {"PodSpec.priorityClassName", Word::kPriority},
      {"PodSpec.preemptionPolicy", Word::kApi},
      {"PodAffinityTerm.namespaces", Word::kNamespace},
      {"PodAffinityTerm.topologyKey", Word::kKey},
      {"PodAffinityTerm.matchLabelKeys", Word::kKey},
      {"PodAffinityTerm.mismatchLabelKeys", Word::kKey},
      {"TopologySpreadConstraint.topologyKey", Word::kKey},
      {"TopologySpreadConstraint.whenUnsatisfiable", Word::kApi},
      {"TopologySpreadConstraint.nodeAffinityPolicy", Word::kApi},
      {"TopologySpreadConstraint.nodeTaintsPolicy", Word::kApi},
      {"TopologySpreadConstraint.matchLabelKeys", Word::kKey},
      {"PodSchedulingGate.name", Word::kGate},
      {"PodSchedulingGroup.podGroupName", Word::kGroup},
      {"PodResourceClaim.name", Word::kEntry},
      {"PodResourceClaim.resourceClaimName", Word::kClaim},
      {"PodResourceClaim.resourceClaimTemplateName", Word::kTemplate},
      {"PodResourceClaimStatus.name", Word::kEntry},
      {"PodResourceClaimStatus.resourceClaimName", Word::kClaim},
      {"PodExtendedResourceClaimStatus.resourceClaimName", Word::kClaim},
      {"NodeAllocatableResourceClaimStatus.resourceClaimName", Word::kClaim},
      {"NodeAllocatableResourceClaimStatus.containers", Word::kContainer},
      {"ContainerExtendedResourceRequest.containerName", Word::kContainer},
      {"ContainerExtendedResourceRequest.resourceName", Word::kResource},
      {"ContainerExtendedResourceRequest.requestName", Word::kRequest},
      {"Container.name", Word::kContainer},
      {"Container.image", Word::kImage},
      {"Container.restartPolicy", Word::kApi},
      {"ContainerPort.protocol", Word::kApi},
      {"ContainerPort.hostIP", Word::kAddress},
      {"ResourceClaim.name", Word::kEntry},
      {"ResourceClaim.request", Word::kRequest},
      {"Volume.name", Word::kVolume},
      {"PersistentVolumeClaimVolumeSource.claimName", Word::kVolume},
      {"ImageVolumeSource.reference", Word::kImage},
      {"GCEPersistentDiskVolumeSource.pdName", Word::kDisk},
      {"AWSElasticBlockStoreVolumeSource.volumeID", Word::kDisk},
      {"ISCSIVolumeSource.targetPortal", Word::kDisk},
      {"ISCSIVolumeSource.iqn", Word::kDisk},
      {"RBDVolumeSource.monitors", Word::kDisk},
      {"RBDVolumeSource.image", Word::kDisk},
      {"RBDVolumeSource.pool", Word::kDisk},
      {"PodStatus.phase", Word::kApi},
      {"PodStatus.nominatedNodeName", Word::kNode},
      {"ContainerStatus.name", Word::kContainer},
      {"ResourceStatus.name", Word::kEntryOfStatus},
      {"ResourceHealth.resourceID", Word::kDeviceId},
      {"ResourceHealth.health", Word::kApi},
      {"ResourceHealth.message", Word::kMessage},
      {"Toleration.key", Word::kKey},
      {"Toleration.operator", Word::kApi},
      {"Toleration.value", Word::kValue},
      {"Toleration.effect", Word::kApi},
  };
  return kRules;
}

const Rules& rules_of_cluster() {
  static const Rules kRules{
      {"Taint.key", Word::kKey},
      {"Taint.value", Word::kValue},
      {"Taint.effect", Word::kApi},
      {"ContainerImage.names", Word::kImage},
      {"NamespaceStatus.phase", Word::kApi},
      {"LeaseSpec.holderIdentity", Word::kManager},
      {"ResourceQuotaSpec.scopes", Word::kApi},
      {"ScopedResourceSelectorRequirement.scopeName", Word::kApi},
      {"ScopedResourceSelectorRequirement.operator", Word::kApi},
      {"ScopedResourceSelectorRequirement.values", Word::kPriority},
      {"PodGroupSpec.priorityClassName", Word::kPriority},
      {"PodGroupSpec.disruptionMode", Word::kApi},
      {"PodDisruptionBudgetSpec.unhealthyPodEvictionPolicy", Word::kApi},
      {"PriorityClass.preemptionPolicy", Word::kApi},
      {"JobSpec.podReplacementPolicy", Word::kApi},
      {"TopologyConstraint.key", Word::kKey},
      {"PodGroupResourceClaim.name", Word::kEntry},
      {"PodGroupResourceClaim.resourceClaimName", Word::kClaim},
      {"PodGroupResourceClaim.resourceClaimTemplateName", Word::kTemplate},
      {"PodGroupResourceClaimStatus.name", Word::kEntry},
      {"PodGroupResourceClaimStatus.resourceClaimName", Word::kClaim},
      {"DeviceTaintSelector.deviceClassName", Word::kClass},
      {"DeviceTaintSelector.driver", Word::kDriver},
      {"DeviceTaintSelector.pool", Word::kPool},
      {"DeviceTaintSelector.device", Word::kDevice},
  };
  return kRules;
}

const Rules& rules_of_devices() {
  static const Rules kRules{
      {"ResourceSliceSpec.driver", Word::kDriver},
      {"ResourceSliceSpec.nodeName", Word::kNode},
      {"ResourceSliceSpec.partitionTypeAttribute", Word::kAttribute},
      {"ResourceSliceSpec.skipNodeOperations", Word::kApi},
      {"ResourcePool.name", Word::kPool},
      {"CounterSet.name", Word::kCounter},
      {"DeviceCounterConsumption.counterSet", Word::kCounter},
      {"DeviceCounterConsumption.compatibilityGroups", Word::kCounter},
      {"Device.name", Word::kDevice},
      {"Device.nodeName", Word::kNode},
      {"Device.bindingConditions", Word::kCondition},
      {"Device.bindingFailureConditions", Word::kCondition},
      {"BasicDevice.nodeName", Word::kNode},
      {"BasicDevice.bindingConditions", Word::kCondition},
      {"BasicDevice.bindingFailureConditions", Word::kCondition},
      {"DeviceAttribute.string", Word::kText},
      {"DeviceAttribute.strings", Word::kText},
      {"DeviceAttribute.version", Word::kVersion},
      {"DeviceAttribute.versions", Word::kVersion},
      {"NodeAllocatableResourceMapping.capacityKey", Word::kCapacity},
      {"NodeAllocatableMapping.capacityKey", Word::kCapacity},
      {"DeviceTaint.key", Word::kKey},
      {"DeviceTaint.value", Word::kValue},
      {"DeviceTaint.effect", Word::kApi},
      {"DeviceClassSpec.extendedResourceName", Word::kResource},
      {"OpaqueDeviceConfiguration.driver", Word::kDriver},
  };
  return kRules;
}

const Rules& rules_of_claims() {
  static const Rules kRules{
      {"DeviceRequest.name", Word::kRequest},
      {"DeviceRequest.deviceClassName", Word::kClass},
      {"DeviceRequest.allocationMode", Word::kApi},
      {"ExactDeviceRequest.deviceClassName", Word::kClass},
      {"ExactDeviceRequest.allocationMode", Word::kApi},
      {"DeviceSubRequest.name", Word::kRequest},
      {"DeviceSubRequest.deviceClassName", Word::kClass},
      {"DeviceSubRequest.allocationMode", Word::kApi},
      {"CELDeviceSelector.expression", Word::kSelector},
      {"DeviceDerivedAttribute.name", Word::kAttribute},
      {"DeviceDerivedAttribute.expression", Word::kSelector},
      {"DeviceConstraint.requests", Word::kRequest},
      {"DeviceConstraint.matchAttribute", Word::kAttribute},
      {"DeviceConstraint.distinctAttribute", Word::kAttribute},
      {"DeviceClaimConfiguration.requests", Word::kRequest},
      {"DeviceAllocationConfiguration.requests", Word::kRequest},
      {"DeviceAllocationConfiguration.source", Word::kApi},
      {"DeviceToleration.key", Word::kKey},
      {"DeviceToleration.operator", Word::kApi},
      {"DeviceToleration.value", Word::kValue},
      {"DeviceToleration.effect", Word::kApi},
      {"ResourceClaimConsumerReference.apiGroup", Word::kApi},
      {"ResourceClaimConsumerReference.resource", Word::kApi},
      {"ResourceClaimConsumerReference.name", Word::kPod},
      {"ResourceClaimConsumerReference.uid", Word::kUid},
      {"DeviceRequestAllocationResult.request", Word::kRequest},
      {"DeviceRequestAllocationResult.driver", Word::kDriver},
      {"DeviceRequestAllocationResult.pool", Word::kPool},
      {"DeviceRequestAllocationResult.device", Word::kDevice},
      {"DeviceRequestAllocationResult.bindingConditions", Word::kCondition},
      {"DeviceRequestAllocationResult.bindingFailureConditions", Word::kCondition},
      {"DeviceRequestAllocationResult.shareID", Word::kShare},
      {"DeviceRequestAllocationResult.skipNodeOperations", Word::kApi},
      {"AllocatedDeviceStatus.driver", Word::kDriver},
      {"AllocatedDeviceStatus.pool", Word::kPool},
      {"AllocatedDeviceStatus.device", Word::kDevice},
      {"AllocatedDeviceStatus.shareID", Word::kShare},
  };
  return kRules;
}

const Rules& rules_of_keys() {
  static const Rules kRules{
      {"ObjectMeta.labels", Word::kKey},
      {"ObjectMeta.annotations", Word::kKey},
      {"LabelSelector.matchLabels", Word::kKey},
      {"PodSpec.nodeSelector", Word::kKey},
      {"PodSpec.overhead", Word::kResource},
      {"PodStatus.allocatedResources", Word::kResource},
      {"NodeAllocatableResourceClaimStatus.resources", Word::kResource},
      {"ContainerStatus.allocatedResources", Word::kResource},
      {"ResourceRequirements.limits", Word::kResource},
      {"ResourceRequirements.requests", Word::kResource},
      {"NodeStatus.capacity", Word::kResource},
      {"PodDisruptionBudgetStatus.disruptedPods", Word::kPod},
      {"ResourceQuotaSpec.hard", Word::kResource},
      {"ResourceQuotaStatus.hard", Word::kResource},
      {"ResourceQuotaStatus.used", Word::kResource},
      {"NodeStatus.allocatable", Word::kResource},
      {"Device.attributes", Word::kAttribute},
      {"Device.capacity", Word::kCapacity},
      {"Device.nodeAllocatableResourceMappings", Word::kResource},
      {"Device.nodeAllocatableResources", Word::kResource},
      {"BasicDevice.attributes", Word::kAttribute},
      {"BasicDevice.capacity", Word::kCapacity},
      {"BasicDevice.nodeAllocatableResourceMappings", Word::kResource},
      {"BasicDevice.nodeAllocatableResources", Word::kResource},
      {"CounterSet.counters", Word::kCounter},
      {"DeviceCounterConsumption.counters", Word::kCounter},
      {"CapacityRequirements.requests", Word::kCapacity},
      {"DeviceRequestAllocationResult.consumedCapacity", Word::kCapacity},
  };
  return kRules;
}

}  // namespace

Word word_of(const ObjectType& type, std::string_view field) {
  if (type.name.ends_with("Condition")) {
    const auto rule = rules_of_conditions().find(field);
    return rule == rules_of_conditions().end() ? Word::kNothing : rule->second;
  }
  const std::string name = type.name + "." + std::string(field);
  for (const Rules* rules :
       {&rules_of_metadata(), &rules_of_pods(), &rules_of_cluster(), &rules_of_devices(), &rules_of_claims()})
    if (const auto rule = rules->find(name); rule != rules->end()) return rule->second;
  return Word::kNothing;
}

Word key_word_of(const ObjectType& type, std::string_view field) {
  const auto rule = rules_of_keys().find(type.name + "." + std::string(field));
  return rule == rules_of_keys().end() ? Word::kValue : rule->second;
}

std::string_view prefix_of(Word word) {
  static const std::map<Word, std::string_view> kPrefixes{{Word::kNamespace, "ns"},
                                                          {Word::kNode, "node"},
                                                          {Word::kPod, "pod"},
                                                          {Word::kClaim, "claim"},
                                                          {Word::kTemplate, "template"},
                                                          {Word::kSlice, "slice"},
                                                          {Word::kTaintRule, "rule"},
                                                          {Word::kQuota, "quota"},
                                                          {Word::kBudget, "budget"},
                                                          {Word::kGroup, "group"},
                                                          {Word::kPool, "pool"},
                                                          {Word::kOwner, "owner"},
                                                          {Word::kUid, "uid"},
                                                          {Word::kEntry, "entry"},
                                                          {Word::kRequest, "request"},
                                                          {Word::kContainer, "container"},
                                                          {Word::kImage, "image"},
                                                          {Word::kVolume, "volume"},
                                                          {Word::kDisk, "disk"},
                                                          {Word::kAddress, "address"},
                                                          {Word::kScheduler, "scheduler"},
                                                          {Word::kPriority, "priority"},
                                                          {Word::kGate, "gate"},
                                                          {Word::kManager, "manager"},
                                                          {Word::kCondition, "condition"},
                                                          {Word::kShare, "share"},
                                                          {Word::kKey, "key"},
                                                          {Word::kValue, "value"},
                                                          {Word::kDriver, "driver"},
                                                          {Word::kClass, "class"},
                                                          {Word::kResource, "resource"},
                                                          {Word::kDevice, "device"},
                                                          {Word::kAttribute, "attribute"},
                                                          {Word::kCapacity, "capacity"},
                                                          {Word::kCounter, "counter"},
                                                          {Word::kText, "text"}};
  const auto found = kPrefixes.find(word);
  return found == kPrefixes.end() ? "name" : found->second;
}

const ObjectType* redacted_type(std::string_view plural) {
  static const std::map<std::string_view, std::pair<const char*, const char*>> kTypes{
      {"namespaces", {"core/v1", "Namespace"}},
      {"nodes", {"core/v1", "Node"}},
      {"pods", {"core/v1", "Pod"}},
      {"resourcequotas", {"redacted/v1", "ResourceQuota"}},
      {"poddisruptionbudgets", {"redacted/v1", "PodDisruptionBudget"}},
      {"priorityclasses", {"redacted/v1", "PriorityClass"}},
      {"jobs", {"redacted/v1", "Job"}},
      {"deviceclasses", {"resource/v1", "DeviceClass"}},
      {"resourceslices", {"resource/v1", "ResourceSlice"}},
      {"resourceclaims", {"resource/v1", "ResourceClaim"}},
      {"resourceclaimtemplates", {"resource/v1", "ResourceClaimTemplate"}},
      {"devicetaintrules", {"redacted/v1", "DeviceTaintRule"}},
      {"leases", {"redacted/v1", "Lease"}},
      {"podgroups", {"redacted/v1", "PodGroup"}},
      {"podgroups.scheduling.x-k8s.io", {"redacted/v1", "PodGroup"}}};
  const auto found = kTypes.find(plural);
  return found == kTypes.end() ? nullptr : redacted_schemas().find(found->second.first, found->second.second);
}

// v1beta1 has requests and devices of another shape under the names of the same types.
const Field* redacted_field(const ObjectType& type, std::string_view name) {
  if (const Field* found = type.find(name)) return found;
  if (type.package != "resource/v1") return nullptr;
  const ObjectType* older = redacted_schemas().find("resource/v1beta1", type.name);
  return older == nullptr ? nullptr : older->find(name);
}

Word object_word(std::string_view plural) {
  static const std::map<std::string_view, Word> kWords{{"namespaces", Word::kNamespace},
                                                       {"nodes", Word::kNode},
                                                       {"pods", Word::kPod},
                                                       {"resourcequotas", Word::kQuota},
                                                       {"poddisruptionbudgets", Word::kBudget},
                                                       {"priorityclasses", Word::kPriority},
                                                       {"jobs", Word::kOwner},
                                                       {"deviceclasses", Word::kClass},
                                                       {"resourceslices", Word::kSlice},
                                                       {"resourceclaims", Word::kClaim},
                                                       {"resourceclaimtemplates", Word::kTemplate},
                                                       {"devicetaintrules", Word::kTaintRule},
                                                       {"leases", Word::kManager},
                                                       {"podgroups", Word::kGroup},
                                                       {"podgroups.scheduling.x-k8s.io", Word::kGroup}};
  const auto found = kWords.find(plural);
  return found == kWords.end() ? Word::kNothing : found->second;
}

}  // namespace dra::inspect
