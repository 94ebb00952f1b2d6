#include "pkg/api/schema/tables.h"

namespace dra::api::schema::tables {

// k8s.io/api/core/v1 of 1.36: podstatus.
std::string_view core_v1_podstatus() {
  return R"(
type HostAlias
1 ip string !
2 hostnames []string

type PodSecurityContext
1 seLinuxOptions *SELinuxOptions
8 windowsOptions *WindowsSecurityContextOptions
2 runAsUser *int64
6 runAsGroup *int64
3 runAsNonRoot *bool
4 supplementalGroups []int64
12 supplementalGroupsPolicy *string
5 fsGroup *int64
7 sysctls []Sysctl
9 fsGroupChangePolicy *string
10 seccompProfile *SeccompProfile
11 appArmorProfile *AppArmorProfile
13 seLinuxChangePolicy *string

type SeccompProfile
1 type string !
2 localhostProfile *string

type AppArmorProfile
1 type string !
2 localhostProfile *string

type PodDNSConfig
1 nameservers []string
2 searches []string
3 options []PodDNSConfigOption

type PodDNSConfigOption
1 name string
2 value *string

type PodIP
1 ip string !

type HostIP
1 ip string !

type EphemeralContainerCommon
1 name string !
2 image string
3 command []string
4 args []string
5 workingDir string
6 ports []ContainerPort map=containerPort,protocol merge=containerPort
19 envFrom []EnvFromSource
7 env []EnvVar map=name merge=name
8 resources ResourceRequirements
23 resizePolicy []ContainerResizePolicy
24 restartPolicy *string
25 restartPolicyRules []ContainerRestartRule
9 volumeMounts []VolumeMount map=mountPath merge=mountPath
21 volumeDevices []VolumeDevice map=devicePath merge=devicePath
10 livenessProbe *Probe
11 readinessProbe *Probe
22 startupProbe *Probe
12 lifecycle *Lifecycle
13 terminationMessagePath string
20 terminationMessagePolicy string
14 imagePullPolicy string
15 securityContext *SecurityContext
16 stdin bool
17 stdinOnce bool
18 tty bool

type EphemeralContainer
1 ephemeralContainerCommon EphemeralContainerCommon inline
2 targetContainerName string

type PodStatus
17 observedGeneration int64
1 phase string
2 conditions []PodCondition map=type merge=type
3 message string
4 reason string
11 nominatedNodeName string
5 hostIP string
16 hostIPs []HostIP merge=ip
6 podIP string
12 podIPs []PodIP map=ip merge=ip
7 startTime *Time
10 initContainerStatuses []ContainerStatus
8 containerStatuses []ContainerStatus
9 qosClass string
13 ephemeralContainerStatuses []ContainerStatus
14 resize string
15 resourceClaimStatuses []PodResourceClaimStatus map=name merge=name,retainKeys
18 extendedResourceClaimStatus *PodExtendedResourceClaimStatus
19 allocatedResources map[string]Quantity
20 resources *ResourceRequirements
21 nodeAllocatableResourceClaimStatuses []NodeAllocatableResourceClaimStatus

type Pod
1 metadata ObjectMeta
2 spec PodSpec
3 status PodStatus

type PodTemplateSpec
1 metadata ObjectMeta
2 spec PodSpec

type SessionAffinityConfig
1 clientIP *ClientIPConfig

type ClientIPConfig
1 timeoutSeconds *int32
)";
}

}  // namespace dra::api::schema::tables
