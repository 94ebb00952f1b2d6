#include "pkg/apiserver/kinds/policy/kinds.h"

namespace dra::apiserver {

// k8s.io/api/policy/v1 of 1.36.
std::vector<SchemaTable> policy_tables() {
  return {{"policy/v1", R"(
type Eviction
1 metadata ObjectMeta
2 deleteOptions *DeleteOptions

type PodDisruptionBudget
1 metadata ObjectMeta
2 spec PodDisruptionBudgetSpec
3 status PodDisruptionBudgetStatus

type PodDisruptionBudgetSpec
1 minAvailable *IntOrString
2 selector *LabelSelector
3 maxUnavailable *IntOrString
4 unhealthyPodEvictionPolicy *string

type PodDisruptionBudgetStatus
1 observedGeneration int64
2 disruptedPods map[string]Time
3 disruptionsAllowed int32 !
4 currentHealthy int32 !
5 desiredHealthy int32 !
6 expectedPods int32 !
7 conditions []Condition map=type merge=type
)"}};
}

}  // namespace dra::apiserver
