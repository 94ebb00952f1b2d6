#include "pkg/apiserver/kinds/scheduling/kinds.h"

namespace dra::apiserver {

namespace {

// k8s.io/api/scheduling/v1beta1 and v1alpha3 of 1.37.
constexpr std::string_view kOf137 = R"(
type Workload
1 metadata ObjectMeta
2 spec WorkloadSpec

type WorkloadSpec
1 controllerRef *TypedLocalObjectReference
2 podGroupTemplates []PodGroupTemplate ! map=name
3 compositePodGroupTemplates []CompositePodGroupTemplate map=name

type CompositePodGroupTemplate
1 name string !
2 schedulingPolicy CompositePodGroupSchedulingPolicy
3 schedulingConstraints *CompositePodGroupSchedulingConstraints
4 disruptionMode *CompositeDisruptionMode
5 priorityClassName string
6 priority *int32
7 preemptionPolicy *string
8 podGroupTemplates []PodGroupTemplate map=name
9 compositePodGroupTemplates []CompositePodGroupTemplate map=name

type CompositePodGroupSchedulingPolicy
1 basic *CompositeBasicSchedulingPolicy
2 gang *CompositeGangSchedulingPolicy

type CompositeBasicSchedulingPolicy

type CompositeGangSchedulingPolicy
1 minGroupCount int32 !

type CompositePodGroupSchedulingConstraints
1 topology []TopologyConstraint

type CompositeDisruptionMode
1 single *SingleCompositeDisruptionMode
2 all *AllCompositeDisruptionMode

type SingleCompositeDisruptionMode

type AllCompositeDisruptionMode

type TypedLocalObjectReference
1 apiGroup string
2 kind string !
3 name string !

type PodGroupTemplate
1 name string !
2 schedulingPolicy PodGroupSchedulingPolicy
3 schedulingConstraints *PodGroupSchedulingConstraints !
4 resourceClaims []PodGroupResourceClaim map=name merge=name,retainKeys
5 disruptionMode *DisruptionMode
6 priorityClassName string
7 priority *int32
8 preemptionPolicy *string

type PodGroupSchedulingPolicy
1 basic *BasicSchedulingPolicy
2 gang *GangSchedulingPolicy

type BasicSchedulingPolicy

type GangSchedulingPolicy
1 minCount int32 !

type DisruptionMode
1 single *SingleDisruptionMode
2 all *AllDisruptionMode

type SingleDisruptionMode

type AllDisruptionMode

type PodGroupResourceClaim
1 name string !
2 resourceClaimName *string
3 resourceClaimTemplateName *string

type PodGroup
1 metadata ObjectMeta
2 spec PodGroupSpec
3 status PodGroupStatus

type PodGroupSpec
1 parentCompositePodGroupName *string
2 workloadRef *WorkloadReference
3 schedulingPolicy PodGroupSchedulingPolicy
4 schedulingConstraints *PodGroupSchedulingConstraints
5 resourceClaims []PodGroupResourceClaim map=name merge=name,retainKeys
6 disruptionMode *DisruptionMode
7 priorityClassName string
8 priority *int32
9 preemptionPolicy *string

type PodGroupStatus
1 conditions []Condition map=type merge=type
2 resourceClaimStatuses []PodGroupResourceClaimStatus map=name merge=name,retainKeys

type PodGroupResourceClaimStatus
1 name string !
2 resourceClaimName *string

type WorkloadReference
1 workloadName string !
2 templateName string !

type PodGroupSchedulingConstraints
1 topology []TopologyConstraint

type TopologyConstraint
1 key string !
)";

constexpr std::string_view kComposite = R"(
type CompositePodGroup
1 metadata ObjectMeta
2 spec CompositePodGroupSpec
3 status CompositePodGroupStatus

type CompositePodGroupSpec
1 parentCompositePodGroupName *string
2 workloadRef *WorkloadReference !
3 schedulingPolicy CompositePodGroupSchedulingPolicy
4 schedulingConstraints *CompositePodGroupSchedulingConstraints
5 disruptionMode *CompositeDisruptionMode
6 priorityClassName string
7 priority *int32
8 preemptionPolicy *string

type CompositePodGroupStatus
1 conditions []Condition map=type merge=type
)";

}  // namespace

// k8s.io/api/scheduling/v1 and v1alpha2 of 1.36, v1beta1 and v1alpha3 of 1.37.
std::vector<SchemaTable> scheduling_tables() {
  return {{"scheduling/v1", R"(
type PriorityClass
1 metadata ObjectMeta
2 value int32 !
3 globalDefault bool
4 description string
5 preemptionPolicy *string
)"},
          {"scheduling/v1alpha2", R"(
type Workload
1 metadata ObjectMeta
2 spec WorkloadSpec

type WorkloadSpec
1 controllerRef *TypedLocalObjectReference
2 podGroupTemplates []PodGroupTemplate ! map=name

type TypedLocalObjectReference
1 apiGroup string
2 kind string !
3 name string !

type PodGroupTemplate
1 name string !
2 schedulingPolicy PodGroupSchedulingPolicy
3 schedulingConstraints *PodGroupSchedulingConstraints !
4 resourceClaims []PodGroupResourceClaim map=name merge=name,retainKeys
5 disruptionMode *string
6 priorityClassName string
7 priority *int32

type PodGroupSchedulingPolicy
1 basic *BasicSchedulingPolicy
2 gang *GangSchedulingPolicy

type BasicSchedulingPolicy

type GangSchedulingPolicy
1 minCount int32 !

type PodGroupResourceClaim
1 name string !
2 resourceClaimName *string
3 resourceClaimTemplateName *string

type PodGroup
1 metadata ObjectMeta
2 spec PodGroupSpec
3 status PodGroupStatus

type PodGroupSpec
1 podGroupTemplateRef *PodGroupTemplateReference !
2 schedulingPolicy PodGroupSchedulingPolicy
3 schedulingConstraints *PodGroupSchedulingConstraints
4 resourceClaims []PodGroupResourceClaim map=name merge=name,retainKeys
5 disruptionMode *string
6 priorityClassName string
7 priority *int32

type PodGroupStatus
1 conditions []Condition map=type merge=type
2 resourceClaimStatuses []PodGroupResourceClaimStatus map=name merge=name,retainKeys

type PodGroupResourceClaimStatus
1 name string !
2 resourceClaimName *string

type PodGroupTemplateReference
1 workload *WorkloadPodGroupTemplateReference !

type WorkloadPodGroupTemplateReference
1 workloadName string !
2 podGroupTemplateName string !

type PodGroupSchedulingConstraints
1 topology []TopologyConstraint

type TopologyConstraint
1 key string !
)"},
          {"scheduling/v1beta1", kOf137, 37},
          {"scheduling/v1alpha3", kOf137, 37},
          {"scheduling/v1alpha3", kComposite, 37}};
}

}  // namespace dra::apiserver
