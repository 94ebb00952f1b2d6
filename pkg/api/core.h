// The kinds of core/v1, coordination/v1 and apps that this project reads, as structs: Pod, Node, Namespace, Lease.
//
// Same conventions as resource.h: plain values, quantities and times as wire text, optional where absence means
// something.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pkg/api/meta.h"
#include "pkg/api/rare.h"

namespace dra::api {

// Resource name -> quantity text.
using ResourceList = StringMap;

struct ContainerClaim {  // resources.claims[]
  std::string name;
  std::string request;
  bool operator==(const ContainerClaim&) const = default;
};

struct HostPort {  // ports[] with a hostPort that is not 0
  uint16_t port = 0;
  std::string protocol;  // "" is TCP
  std::string ip;        // hostIP; "" is 0.0.0.0
  bool operator==(const HostPort&) const = default;
};

struct Container {
  std::string name;
  std::string image;
  ResourceList requests;
  ResourceList limits;
  std::vector<ContainerClaim> claims;
  std::string restart_policy;  // init containers: "Always" makes a sidecar
  std::vector<HostPort> host_ports;
  bool operator==(const Container&) const = default;
};

struct Toleration {
  std::string key;
  std::string op;
  std::string value;
  std::string effect;
  std::optional<int64_t> toleration_seconds;
  bool operator==(const Toleration&) const = default;
};

struct PreferredSchedulingTerm {
  int32_t weight = 0;
  NodeSelectorTerm preference;
  bool operator==(const PreferredSchedulingTerm&) const = default;
};

struct NodeAffinity {
  std::optional<NodeSelector> required;
  std::vector<PreferredSchedulingTerm> preferred;
  bool operator==(const NodeAffinity&) const = default;
};

struct PodAffinityTerm {
  std::optional<LabelSelector> label_selector;  // absent: matches no pod
  std::vector<std::string> namespaces;
  std::optional<LabelSelector> namespace_selector;  // absent with no namespaces: the pod's own namespace
  std::string topology_key;
  bool operator==(const PodAffinityTerm&) const = default;
};

struct WeightedPodAffinityTerm {
  int32_t weight = 0;
  PodAffinityTerm term;
  bool operator==(const WeightedPodAffinityTerm&) const = default;
};

struct PodAffinity {  // or anti-affinity
  std::vector<PodAffinityTerm> required;
  std::vector<WeightedPodAffinityTerm> preferred;
  bool operator==(const PodAffinity&) const = default;
};

struct TopologySpreadConstraint {
  int32_t max_skew = 0;
  std::string topology_key;
  std::string when_unsatisfiable;               // DoNotSchedule or ScheduleAnyway
  std::optional<LabelSelector> label_selector;  // absent: matches no pod
  std::optional<int32_t> min_domains;
  std::string node_affinity_policy;  // "" is Honor
  std::string node_taints_policy;    // "" is Ignore
  std::vector<std::string> match_label_keys;
  bool operator==(const TopologySpreadConstraint&) const = default;
};

// A disk that a pod names itself, of the kinds whose use by two pods kube-scheduler restricts.
struct InlineDisk {
  enum class Kind : uint8_t { kGcePersistentDisk, kAwsElasticBlockStore, kIscsi, kRbd };
  Kind kind = Kind::kGcePersistentDisk;
  std::string id;  // pdName, volumeID, iqn, or "pool/image" of rbd
  std::vector<std::string> monitors;
  bool read_only = false;
  bool operator==(const InlineDisk&) const = default;
};

// spec.volumes[], where it is a claim, an ephemeral claim, an image or one of the disks above; the others are not kept.
struct PodVolume {
  std::string name;
  std::string claim_name;  // persistentVolumeClaim.claimName
  bool ephemeral = false;  // the claim is POD-VOLUME
  std::string image;       // image.reference
  std::optional<InlineDisk> disk;
  bool operator==(const PodVolume&) const = default;
};

struct PodResourceClaim {  // spec.resourceClaims[]
  std::string name;
  std::optional<std::string> resource_claim_name;
  std::optional<std::string> resource_claim_template_name;
  bool operator==(const PodResourceClaim&) const = default;
};

struct PodResourceClaimStatus {  // status.resourceClaimStatuses[]
  std::string name;
  std::optional<std::string> resource_claim_name;  // unset: no claim is needed for this entry
  bool operator==(const PodResourceClaimStatus&) const = default;
};

struct ContainerExtendedResourceRequest {
  std::string container_name;
  std::string resource_name;
  std::string request_name;
  bool operator==(const ContainerExtendedResourceRequest&) const = default;
};

struct PodExtendedResourceClaimStatus {
  std::string resource_claim_name;
  std::vector<ContainerExtendedResourceRequest> request_mappings;
  bool operator==(const PodExtendedResourceClaimStatus&) const = default;
};

// The resources of a pod or container that is resized in place: status.resources.requests and
// status.allocatedResources, or the same two fields of an entry of status.containerStatuses.
struct ResizedResources {
  ResourceList in_force;
  ResourceList allocated;
  bool operator==(const ResizedResources&) const = default;
};

// A device that kubelet reports as Unhealthy, in status.containerStatuses[].allocatedResourcesStatus[] (KEP-4680). Kept
// are the first kMaxUnhealthyDevices of the pod's own spec.resourceClaims; texts are cut at kMaxHealthText.
struct UnhealthyDevice {
  std::string entry;    // of spec.resourceClaims
  std::string request;  // of the claim; empty: unknown
  std::string id;       // as kubelet names it: DRIVER/POOL/DEVICE, or a CDI name
  std::string message;  // the driver's; may be empty
  bool operator==(const UnhealthyDevice&) const = default;
};
inline constexpr size_t kMaxUnhealthyDevices = 32;
inline constexpr size_t kMaxHealthText = 256;

struct ResizedContainer {
  std::string name;
  ResizedResources resources;
  bool operator==(const ResizedContainer&) const = default;
};

// What devices of a claim take of the pod's node beside its containers' requests (KEP-5517). Three forms of the pod's
// status say it, told apart by their content: `resources` of an entry of status.nodeAllocatableResourceClaimStatuses
// (1.36), `mapping` and `overhead` of one (1.37), and status.additionalNodeAllocatableResources (on its way to 1.38).
struct ClaimTakes {
  std::string claim;
  ResourceList resources;  // all of it together: of 1.37, what each container adds is in it for each that is named
  bool operator==(const ClaimTakes&) const = default;
};

// status.reason and status.message of a pod that its kubelet did not admit.
struct KubeletRefusal {
  std::string reason;   // "OutOfcpu"
  std::string message;  // "Pod was rejected: Node didn't have enough resource: cpu, ..."
  bool operator==(const KubeletRefusal&) const = default;
};

struct Pod {
  ObjectMeta metadata;
  // spec
  std::string node_name;
  std::string scheduler_name;
  std::string restart_policy;
  StringMap node_selector;
  Rare<NodeAffinity> node_affinity;
  PodAffinity pod_affinity;
  PodAffinity pod_anti_affinity;
  std::vector<TopologySpreadConstraint> topology_spread;
  // Not 0: above a limit of pod_bounds.h, so no rules, no labels, or no details of containers and volumes are kept.
  size_t scheduling_parts_dropped = 0;
  size_t labels_dropped = 0;  // their number
  size_t bytes_dropped = 0;
  std::vector<PodVolume> volumes;
  SharedList<Toleration> tolerations;
  std::vector<std::string> scheduling_gates;
  SharedList<PodResourceClaim> resource_claims;
  SharedList<Container> containers;
  SharedList<Container> init_containers;
  ResourceList overhead;
  Rare<ResourceList> pod_requests;  // spec.resources.requests (pod level)
  int32_t priority = 0;
  bool has_host_path = false;   // a volume of it is a path of its node
  bool never_preempts = false;  // spec.preemptionPolicy is Never
  std::string priority_class_name;
  std::string pod_group_name;  // spec.schedulingGroup.podGroupName
  std::optional<int64_t> termination_grace_period_seconds;
  std::optional<int64_t> active_deadline_seconds;
  // status
  std::string phase;  // Pending, Running, Succeeded, Failed, Unknown
  std::string nominated_node_name;
  int64_t started = 0;           // startTime in seconds since 1970; 0: none
  Rare<KubeletRefusal> refusal;  // only in phase Failed
  std::vector<Condition> conditions;
  std::vector<PodResourceClaimStatus> resource_claim_statuses;
  Rare<PodExtendedResourceClaimStatus> extended_resource_claim_status;
  Rare<std::vector<ClaimTakes>> claims_take;
  // Containers (init containers included) whose status reports other resources than the spec requests; most pods have
  // none and need no memory for them. `resized` below is the same for the pod itself.
  std::vector<ResizedContainer> resized_containers;
  std::vector<UnhealthyDevice> unhealthy_devices;  // each once, whichever containers use it
  Rare<ResizedResources> resized;                  // only with pod_requests

  bool terminal() const { return phase == "Succeeded" || phase == "Failed"; }
  // The pod no longer needs its claims: it is finished, or was deleted before it was bound to a node (the rule of
  // kube-controller-manager).
  bool done() const { return terminal() || (metadata.deleting() && node_name.empty()); }
  bool operator==(const Pod&) const = default;
};

struct Taint {
  std::string key;
  std::string value;
  std::string effect;
  std::string time_added;
  bool operator==(const Taint&) const = default;
};

// One name of an image on a node. Nodes list up to 50 images with long names that are only compared, so only a hash of
// each name is kept (image_hash()), an eighth of its size.
struct NodeImage {
  uint64_t name_hash = 0;
  int64_t size_bytes = 0;
  bool operator==(const NodeImage&) const = default;
};
uint64_t image_hash(std::string_view name);

struct Node {
  ObjectMeta metadata;
  bool unschedulable = false;
  std::vector<Taint> taints;
  ResourceList capacity;
  ResourceList allocatable;
  std::vector<Condition> conditions;
  std::vector<NodeImage> images;
  bool operator==(const Node&) const = default;
};

struct Namespace {
  ObjectMeta metadata;
  std::string phase;
};

struct Lease {
  ObjectMeta metadata;
  std::string holder_identity;
  int32_t lease_duration_seconds = 0;
  std::string acquire_time;
  std::string renew_time;
  int32_t lease_transitions = 0;
};

}  // namespace dra::api
