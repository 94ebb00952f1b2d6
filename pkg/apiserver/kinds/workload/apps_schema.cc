#include "pkg/apiserver/kinds/workload/tables.h"

namespace dra::apiserver {

// k8s.io/api/apps/v1 of 1.36.
std::string_view apps_table() {
  return R"(
type Deployment
1 metadata ObjectMeta
2 spec DeploymentSpec
3 status DeploymentStatus

type DeploymentSpec
1 replicas *int32
2 selector *LabelSelector !
3 template core/v1.PodTemplateSpec
4 strategy DeploymentStrategy retainKeys
5 minReadySeconds int32
6 revisionHistoryLimit *int32
7 paused bool
9 progressDeadlineSeconds *int32

type DeploymentStrategy
1 type string
2 rollingUpdate *RollingUpdateDeployment

type RollingUpdateDeployment
1 maxUnavailable *IntOrString
2 maxSurge *IntOrString

type DeploymentStatus
1 observedGeneration int64
2 replicas int32
3 updatedReplicas int32
7 readyReplicas int32
4 availableReplicas int32
5 unavailableReplicas int32
9 terminatingReplicas *int32
6 conditions []DeploymentCondition map=type merge=type
8 collisionCount *int32

type DeploymentCondition
1 type string !
2 status string !
6 lastUpdateTime Time !
7 lastTransitionTime Time !
4 reason string
5 message string

type ReplicaSet
1 metadata ObjectMeta
2 spec ReplicaSetSpec
3 status ReplicaSetStatus

type ReplicaSetSpec
1 replicas *int32
4 minReadySeconds int32
2 selector *LabelSelector !
3 template core/v1.PodTemplateSpec

type ReplicaSetStatus
1 replicas int32 !
2 fullyLabeledReplicas int32
4 readyReplicas int32
5 availableReplicas int32
7 terminatingReplicas *int32
3 observedGeneration int64
6 conditions []ReplicaSetCondition map=type merge=type

type ReplicaSetCondition
1 type string !
2 status string !
3 lastTransitionTime Time !
4 reason string
5 message string
type StatefulSet
1 metadata ObjectMeta
2 spec StatefulSetSpec
3 status StatefulSetStatus

type StatefulSetSpec
1 replicas *int32
2 selector *LabelSelector !
3 template core/v1.PodTemplateSpec
4 volumeClaimTemplates []core/v1.PersistentVolumeClaim
5 serviceName string !
6 podManagementPolicy string
7 updateStrategy StatefulSetUpdateStrategy
8 revisionHistoryLimit *int32
9 minReadySeconds int32
10 persistentVolumeClaimRetentionPolicy *StatefulSetPersistentVolumeClaimRetentionPolicy
11 ordinals *StatefulSetOrdinals

type StatefulSetUpdateStrategy
1 type string
2 rollingUpdate *RollingUpdateStatefulSetStrategy

type RollingUpdateStatefulSetStrategy
1 partition *int32
2 maxUnavailable *IntOrString

type StatefulSetPersistentVolumeClaimRetentionPolicy
1 whenDeleted string
2 whenScaled string

type StatefulSetOrdinals
1 start int32 !

type StatefulSetStatus
1 observedGeneration int64
2 replicas int32 !
3 readyReplicas int32
4 currentReplicas int32
5 updatedReplicas int32
6 currentRevision string
7 updateRevision string
9 collisionCount *int32
10 conditions []StatefulSetCondition map=type merge=type
11 availableReplicas int32 !

type StatefulSetCondition
1 type string !
2 status string !
3 lastTransitionTime Time !
4 reason string
5 message string

type DaemonSet
1 metadata ObjectMeta
2 spec DaemonSetSpec
3 status DaemonSetStatus

type DaemonSetSpec
1 selector *LabelSelector !
2 template core/v1.PodTemplateSpec
3 updateStrategy DaemonSetUpdateStrategy
4 minReadySeconds int32
6 revisionHistoryLimit *int32

type DaemonSetUpdateStrategy
1 type string
2 rollingUpdate *RollingUpdateDaemonSet

type RollingUpdateDaemonSet
1 maxUnavailable *IntOrString
2 maxSurge *IntOrString

type DaemonSetStatus
1 currentNumberScheduled int32 !
2 numberMisscheduled int32 !
3 desiredNumberScheduled int32 !
4 numberReady int32 !
5 observedGeneration int64
6 updatedNumberScheduled int32
7 numberAvailable int32
8 numberUnavailable int32
9 collisionCount *int32
10 conditions []DaemonSetCondition map=type merge=type

type DaemonSetCondition
1 type string !
2 status string !
3 lastTransitionTime Time !
4 reason string
5 message string
)";
}

}  // namespace dra::apiserver
