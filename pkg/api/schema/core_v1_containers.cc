#include "pkg/api/schema/tables.h"

namespace dra::api::schema::tables {

// k8s.io/api/core/v1 of 1.36: containers.
std::string_view core_v1_containers() {
  return R"(
type ContainerPort
1 name string
2 hostPort int32
3 containerPort int32 !
4 protocol string default=TCP
5 hostIP string

type VolumeMount
1 name string !
2 readOnly bool
7 recursiveReadOnly *string
3 mountPath string !
4 subPath string
5 mountPropagation *string
6 subPathExpr string

type VolumeDevice
1 name string !
2 devicePath string !

type EnvVar
1 name string !
2 value string
3 valueFrom *EnvVarSource

type EnvVarSource
1 fieldRef *ObjectFieldSelector
2 resourceFieldRef *ResourceFieldSelector
3 configMapKeyRef *ConfigMapKeySelector
4 secretKeyRef *SecretKeySelector
5 fileKeyRef *FileKeySelector

type FileKeySelector atomic
1 volumeName string !
2 path string !
3 key string !
4 optional *bool

type ObjectFieldSelector atomic
1 apiVersion string
2 fieldPath string !

type ResourceFieldSelector atomic
1 containerName string
2 resource string !
3 divisor Quantity !

type ConfigMapKeySelector atomic
1 localObjectReference LocalObjectReference inline
2 key string !
3 optional *bool

type SecretKeySelector atomic
1 localObjectReference LocalObjectReference inline
2 key string !
3 optional *bool

type EnvFromSource
1 prefix string
2 configMapRef *ConfigMapEnvSource
3 secretRef *SecretEnvSource

type ConfigMapEnvSource
1 localObjectReference LocalObjectReference inline
2 optional *bool

type SecretEnvSource
1 localObjectReference LocalObjectReference inline
2 optional *bool

type HTTPHeader
1 name string !
2 value string !

type HTTPGetAction
1 path string
2 port IntOrString !
3 host string
4 scheme string
5 httpHeaders []HTTPHeader

type TCPSocketAction
1 port IntOrString !
2 host string

type GRPCAction
1 port int32 !
2 service *string !

type ExecAction
1 command []string

type SleepAction
1 seconds int64 !

type Probe
1 handler ProbeHandler inline
2 initialDelaySeconds int32
3 timeoutSeconds int32
4 periodSeconds int32
5 successThreshold int32
6 failureThreshold int32
7 terminationGracePeriodSeconds *int64

type ContainerResizePolicy
1 resourceName string !
2 restartPolicy string !

type Capabilities
1 add []string
2 drop []string

type ResourceRequirements
1 limits map[string]Quantity
2 requests map[string]Quantity
3 claims []ResourceClaim map=name

type VolumeResourceRequirements
1 limits map[string]Quantity
2 requests map[string]Quantity

type ResourceClaim
1 name string !
2 request string

type Container
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

type ProbeHandler
1 exec *ExecAction
2 httpGet *HTTPGetAction
3 tcpSocket *TCPSocketAction
4 grpc *GRPCAction

type LifecycleHandler
1 exec *ExecAction
2 httpGet *HTTPGetAction
3 tcpSocket *TCPSocketAction
4 sleep *SleepAction

type Lifecycle
1 postStart *LifecycleHandler
2 preStop *LifecycleHandler
3 stopSignal *string

type ContainerStateWaiting
1 reason string
2 message string

type ContainerStateRunning
1 startedAt Time !

type ContainerStateTerminated
1 exitCode int32 !
2 signal int32
3 reason string
4 message string
5 startedAt Time !
6 finishedAt Time !
7 containerID string

type ContainerState
1 waiting *ContainerStateWaiting
2 running *ContainerStateRunning
3 terminated *ContainerStateTerminated

type ContainerStatus
1 name string !
2 state ContainerState
3 lastState ContainerState
4 ready bool !
5 restartCount int32 !
6 image string !
7 imageID string !
8 containerID string
9 started *bool
10 allocatedResources map[string]Quantity
11 resources *ResourceRequirements
12 volumeMounts []VolumeMountStatus map=mountPath merge=mountPath
13 user *ContainerUser
14 allocatedResourcesStatus []ResourceStatus map=name merge=name
15 stopSignal *string

type ResourceStatus
1 name string !
2 resources []ResourceHealth map=resourceID

type ResourceHealth
1 resourceID string !
2 health string
6 message *string

type ContainerUser
1 linux *LinuxContainerUser

type LinuxContainerUser
1 uid int64 !
2 gid int64 !
3 supplementalGroups []int64

type PodCondition
1 type string !
7 observedGeneration int64
2 status string !
3 lastProbeTime Time !
4 lastTransitionTime Time !
5 reason string
6 message string

type VolumeMountStatus
1 name string !
2 mountPath string !
3 readOnly bool
4 recursiveReadOnly *string
5 volumeStatus *VolumeStatus

type VolumeStatus
1 image *ImageVolumeStatus

type ImageVolumeStatus
1 imageRef string

type ContainerRestartRule
1 action string
2 exitCodes *ContainerRestartRuleOnExitCodes

type ContainerRestartRuleOnExitCodes
1 operator string
2 values []int32 set
)";
}

}  // namespace dra::api::schema::tables
