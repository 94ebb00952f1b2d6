#include "pkg/apiserver/schema/tables.h"

namespace dra::apiserver::schema_tables {

// k8s.io/api/core/v1 of 1.36: ReplicationController and ResourceQuota.
std::string_view core_v1_quota() {
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

type ResourceQuota
1 metadata ObjectMeta
2 spec ResourceQuotaSpec
3 status ResourceQuotaStatus

type ResourceQuotaSpec
1 hard map[string]Quantity
2 scopes []string atomic
3 scopeSelector *ScopeSelector

type ResourceQuotaStatus
1 hard map[string]Quantity
2 used map[string]Quantity

type ScopeSelector atomic
1 matchExpressions []ScopedResourceSelectorRequirement atomic

type ScopedResourceSelectorRequirement
1 scopeName string !
2 operator string !
3 values []string atomic
)";
}

}  // namespace dra::apiserver::schema_tables
