#include "pkg/api/schema/tables.h"

namespace dra::api::schema::tables {

// k8s.io/api/core/v1 of 1.36: cluster.
std::string_view core_v1_cluster() {
  return R"(
type ServiceStatus
1 loadBalancer LoadBalancerStatus
2 conditions []Condition map=type merge=type

type LoadBalancerStatus
1 ingress []LoadBalancerIngress

type LoadBalancerIngress
1 ip string
2 hostname string
3 ipMode *string
4 ports []PortStatus

type ServiceSpec
1 ports []ServicePort map=port,protocol merge=port
2 selector map[string]string atomic
3 clusterIP string
18 clusterIPs []string
4 type string
5 externalIPs []string
7 sessionAffinity string
8 loadBalancerIP string
9 loadBalancerSourceRanges []string
10 externalName string
11 externalTrafficPolicy string
12 healthCheckNodePort int32
13 publishNotReadyAddresses bool
14 sessionAffinityConfig *SessionAffinityConfig
19 ipFamilies []string
17 ipFamilyPolicy *string
20 allocateLoadBalancerNodePorts *bool
21 loadBalancerClass *string
22 internalTrafficPolicy *string
23 trafficDistribution *string

type ServicePort
1 name string
2 protocol string default=TCP
6 appProtocol *string
3 port int32 !
4 targetPort IntOrString !
5 nodePort int32

type Service
1 metadata ObjectMeta
2 spec ServiceSpec
3 status ServiceStatus

type ServiceAccount
1 metadata ObjectMeta
2 secrets []ObjectReference map=name merge=name
3 imagePullSecrets []LocalObjectReference
4 automountServiceAccountToken *bool

type NodeSpec
1 podCIDR string
7 podCIDRs []string set merge
3 providerID string
4 unschedulable bool
5 taints []Taint
6 configSource *NodeConfigSource
2 externalID string

type NodeConfigSource
2 configMap *ConfigMapNodeConfigSource

type ConfigMapNodeConfigSource
1 namespace string !
2 name string !
3 uid string
4 resourceVersion string
5 kubeletConfigKey string !

type DaemonEndpoint
1 Port int32 !

type NodeDaemonEndpoints
1 kubeletEndpoint DaemonEndpoint

type NodeRuntimeHandlerFeatures
1 recursiveReadOnlyMounts *bool
2 userNamespaces *bool

type NodeRuntimeHandler
1 name string !
2 features *NodeRuntimeHandlerFeatures

type NodeFeatures
1 supplementalGroupsPolicy *bool

type NodeSystemInfo
1 machineID string !
2 systemUUID string !
3 bootID string !
4 kernelVersion string !
5 osImage string !
6 containerRuntimeVersion string !
7 kubeletVersion string !
8 kubeProxyVersion string !
9 operatingSystem string !
10 architecture string !
11 swap *NodeSwapStatus

type NodeSwapStatus
1 capacity *int64

type NodeConfigStatus
1 assigned *NodeConfigSource
2 active *NodeConfigSource
3 lastKnownGood *NodeConfigSource
4 error string

type NodeStatus
1 capacity map[string]Quantity
2 allocatable map[string]Quantity
3 phase string
4 conditions []NodeCondition map=type merge=type
5 addresses []NodeAddress map=type merge=type
6 daemonEndpoints NodeDaemonEndpoints
7 nodeInfo NodeSystemInfo
8 images []ContainerImage
9 volumesInUse []string
10 volumesAttached []AttachedVolume
11 config *NodeConfigStatus
12 runtimeHandlers []NodeRuntimeHandler
13 features *NodeFeatures
14 declaredFeatures []string

type AttachedVolume
1 name string !
2 devicePath string !

type ContainerImage
1 names []string !
2 sizeBytes int64

type NodeCondition
1 type string !
2 status string !
3 lastHeartbeatTime Time !
4 lastTransitionTime Time !
5 reason string
6 message string

type NodeAddress
1 type string !
2 address string !

type Node
1 metadata ObjectMeta
2 spec NodeSpec
3 status NodeStatus

type NamespaceSpec
1 finalizers []string

type NamespaceStatus
1 phase string
2 conditions []NamespaceCondition map=type merge=type

type NamespaceCondition
1 type string !
2 status string !
4 lastTransitionTime Time !
5 reason string
6 message string

type Namespace
1 metadata ObjectMeta
2 spec NamespaceSpec
3 status NamespaceStatus

type Binding
1 metadata ObjectMeta
2 target ObjectReference

type ObjectReference atomic
1 kind string
2 namespace string
3 name string
4 uid string
5 apiVersion string
6 resourceVersion string
7 fieldPath string

type LocalObjectReference atomic
1 name string

type TypedLocalObjectReference atomic
1 apiGroup *string !
2 kind string !
3 name string !

type EventSource
1 component string
2 host string

type Event
1 metadata ObjectMeta
2 involvedObject ObjectReference
3 reason string
4 message string
5 source EventSource
6 firstTimestamp Time !
7 lastTimestamp Time !
8 count int32
9 type string
10 eventTime MicroTime !
11 series *EventSeries
12 action string
13 related *ObjectReference
14 reportingComponent string !
15 reportingInstance string !

type EventSeries
1 count int32
2 lastObservedTime MicroTime !

type Secret
1 metadata ObjectMeta
5 immutable *bool
2 data map[string]bytes
4 stringData map[string]string
3 type string

type ConfigMap
1 metadata ObjectMeta
4 immutable *bool
2 data map[string]string
3 binaryData map[string]bytes

type DownwardAPIVolumeSource
1 items []DownwardAPIVolumeFile
2 defaultMode *int32

type DownwardAPIVolumeFile
1 path string !
2 fieldRef *ObjectFieldSelector
3 resourceFieldRef *ResourceFieldSelector
4 mode *int32

type DownwardAPIProjection
1 items []DownwardAPIVolumeFile

type SecurityContext
1 capabilities *Capabilities
2 privileged *bool
3 seLinuxOptions *SELinuxOptions
10 windowsOptions *WindowsSecurityContextOptions
4 runAsUser *int64
8 runAsGroup *int64
5 runAsNonRoot *bool
6 readOnlyRootFilesystem *bool
7 allowPrivilegeEscalation *bool
9 procMount *string
11 seccompProfile *SeccompProfile
12 appArmorProfile *AppArmorProfile

type SELinuxOptions
1 user string
2 role string
3 type string
4 level string

type WindowsSecurityContextOptions
1 gmsaCredentialSpecName *string
2 gmsaCredentialSpec *string
3 runAsUserName *string
4 hostProcess *bool

type Sysctl
1 name string !
2 value string !

type PortStatus
1 port int32 !
2 protocol string !
3 error *string

type ImageVolumeSource
1 reference string
2 pullPolicy string

type NodeAllocatableResourceClaimStatus
1 resourceClaimName string !
2 containers []string set
3 resources map[string]Quantity !
)";
}

}  // namespace dra::api::schema::tables
