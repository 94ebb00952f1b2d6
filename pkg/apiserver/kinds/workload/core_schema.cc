#include "pkg/apiserver/kinds/workload/tables.h"

namespace dra::apiserver {

// k8s.io/api/core/v1 of 1.36: ReplicationController.
std::string_view replication_controller_table() {
  return R"(
type ReplicationController
1 metadata ObjectMeta
2 spec ReplicationControllerSpec
3 status ReplicationControllerStatus

type ReplicationControllerSpec
1 replicas *int32
2 selector map[string]string atomic
3 template *PodTemplateSpec
4 minReadySeconds int32

type ReplicationControllerStatus
1 replicas int32 !
2 fullyLabeledReplicas int32
3 observedGeneration int64
4 readyReplicas int32
5 availableReplicas int32
6 conditions []ReplicationControllerCondition map=type merge=type

type ReplicationControllerCondition
1 type string !
2 status string !
3 lastTransitionTime Time !
4 reason string
5 message string
)";
}

}  // namespace dra::apiserver
