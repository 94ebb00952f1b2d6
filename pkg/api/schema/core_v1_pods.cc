#include "pkg/api/schema/tables.h"

namespace dra::api::schema::tables {

// k8s.io/api/core/v1 of 1.36: pods.
std::string_view core_v1_pods() {
  return R"(
type NodeSelector atomic
1 nodeSelectorTerms []NodeSelectorTerm !

type NodeSelectorTerm atomic
1 matchExpressions []NodeSelectorRequirement
2 matchFields []NodeSelectorRequirement

type NodeSelectorRequirement
1 key string !
2 operator string !
3 values []string

type Affinity
1 nodeAffinity *NodeAffinity
2 podAffinity *PodAffinity
3 podAntiAffinity *PodAntiAffinity

type PodAffinity
1 requiredDuringSchedulingIgnoredDuringExecution []PodAffinityTerm
2 preferredDuringSchedulingIgnoredDuringExecution []WeightedPodAffinityTerm

type PodAntiAffinity
1 requiredDuringSchedulingIgnoredDuringExecution []PodAffinityTerm
2 preferredDuringSchedulingIgnoredDuringExecution []WeightedPodAffinityTerm

type WeightedPodAffinityTerm
1 weight int32 !
2 podAffinityTerm PodAffinityTerm

type PodAffinityTerm
1 labelSelector *LabelSelector
2 namespaces []string
3 topologyKey string !
4 namespaceSelector *LabelSelector
5 matchLabelKeys []string
6 mismatchLabelKeys []string

type NodeAffinity
1 requiredDuringSchedulingIgnoredDuringExecution *NodeSelector
2 preferredDuringSchedulingIgnoredDuringExecution []PreferredSchedulingTerm

type PreferredSchedulingTerm
1 weight int32 !
2 preference NodeSelectorTerm

type Taint
1 key string !
2 value string
3 effect string !
4 timeAdded *Time

type Toleration
1 key string
2 operator string
3 value string
4 effect string
5 tolerationSeconds *int64

type PodReadinessGate
1 conditionType string !

type PodSpec
1 volumes []Volume map=name merge=name,retainKeys
20 initContainers []Container map=name merge=name
2 containers []Container ! map=name merge=name
34 ephemeralContainers []EphemeralContainer map=name merge=name
3 restartPolicy string
4 terminationGracePeriodSeconds *int64
5 activeDeadlineSeconds *int64
6 dnsPolicy string
7 nodeSelector map[string]string atomic
8 serviceAccountName string
9 serviceAccount string
21 automountServiceAccountToken *bool
10 nodeName string
11 hostNetwork bool
12 hostPID bool
13 hostIPC bool
27 shareProcessNamespace *bool
14 securityContext *PodSecurityContext
15 imagePullSecrets []LocalObjectReference map=name merge=name
16 hostname string
17 subdomain string
18 affinity *Affinity
19 schedulerName string
22 tolerations []Toleration
23 hostAliases []HostAlias map=ip merge=ip
24 priorityClassName string
25 priority *int32
26 dnsConfig *PodDNSConfig
28 readinessGates []PodReadinessGate
29 runtimeClassName *string
30 enableServiceLinks *bool
31 preemptionPolicy *string
32 overhead map[string]Quantity
33 topologySpreadConstraints []TopologySpreadConstraint map=topologyKey,whenUnsatisfiable merge=topologyKey
35 setHostnameAsFQDN *bool
36 os *PodOS
37 hostUsers *bool
38 schedulingGates []PodSchedulingGate map=name merge=name
39 resourceClaims []PodResourceClaim map=name merge=name,retainKeys
40 resources *ResourceRequirements
41 hostnameOverride *string
43 schedulingGroup *PodSchedulingGroup

type PodResourceClaim
1 name string !
3 resourceClaimName *string
4 resourceClaimTemplateName *string

type PodResourceClaimStatus
1 name string !
2 resourceClaimName *string

type PodExtendedResourceClaimStatus
1 requestMappings []ContainerExtendedResourceRequest !
2 resourceClaimName string !

type ContainerExtendedResourceRequest
1 containerName string !
2 resourceName string !
3 requestName string !

type PodOS
1 name string !

type PodSchedulingGate
1 name string !

type PodSchedulingGroup
1 podGroupName *string

type TopologySpreadConstraint
1 maxSkew int32 !
2 topologyKey string !
3 whenUnsatisfiable string !
4 labelSelector *LabelSelector
5 minDomains *int32
6 nodeAffinityPolicy *string
7 nodeTaintsPolicy *string
8 matchLabelKeys []string
)";
}

}  // namespace dra::api::schema::tables
