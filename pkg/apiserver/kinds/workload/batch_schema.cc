#include "pkg/apiserver/kinds/workload/tables.h"

namespace dra::apiserver {

// k8s.io/api/batch/v1 of 1.36.
std::string_view batch_table() {
  return R"(
type Job
1 metadata ObjectMeta
2 spec JobSpec
3 status JobStatus

type PodFailurePolicyOnExitCodesRequirement
1 containerName *string
2 operator string !
3 values []int32 ! set

type PodFailurePolicyOnPodConditionsPattern
1 type string !
2 status string !

type PodFailurePolicyRule
1 action string !
2 onExitCodes *PodFailurePolicyOnExitCodesRequirement
3 onPodConditions []PodFailurePolicyOnPodConditionsPattern

type PodFailurePolicy
1 rules []PodFailurePolicyRule !

type SuccessPolicy
1 rules []SuccessPolicyRule !

type SuccessPolicyRule
1 succeededIndexes *string
2 succeededCount *int32

type JobSpec
1 parallelism *int32
2 completions *int32
3 activeDeadlineSeconds *int64
11 podFailurePolicy *PodFailurePolicy
16 successPolicy *SuccessPolicy
7 backoffLimit *int32
12 backoffLimitPerIndex *int32
13 maxFailedIndexes *int32
4 selector *LabelSelector
5 manualSelector *bool
6 template core/v1.PodTemplateSpec
8 ttlSecondsAfterFinished *int32
9 completionMode *string
10 suspend *bool
14 podReplacementPolicy *string
15 managedBy *string

type JobStatus
1 conditions []JobCondition merge=type
2 startTime *Time
3 completionTime *Time
4 active int32
5 succeeded int32
6 failed int32
11 terminating *int32
7 completedIndexes string
10 failedIndexes *string
8 uncountedTerminatedPods *UncountedTerminatedPods
9 ready *int32

type UncountedTerminatedPods
1 succeeded []string set
2 failed []string set

type JobCondition
1 type string !
2 status string !
3 lastProbeTime Time !
4 lastTransitionTime Time !
5 reason string
6 message string
)";
}

}  // namespace dra::apiserver
