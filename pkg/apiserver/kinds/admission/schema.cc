#include "pkg/apiserver/kinds/admission/kinds.h"

namespace dra::apiserver {

// k8s.io/api/admissionregistration/v1 of 1.36: policies.
std::vector<SchemaTable> admission_tables() {
  return {{"admissionregistration/v1", R"(
type ValidatingAdmissionPolicy
1 metadata ObjectMeta
2 spec ValidatingAdmissionPolicySpec
3 status ValidatingAdmissionPolicyStatus

type ValidatingAdmissionPolicyBinding
1 metadata ObjectMeta
2 spec ValidatingAdmissionPolicyBindingSpec

type MutatingAdmissionPolicy
1 metadata ObjectMeta
2 spec MutatingAdmissionPolicySpec

type MutatingAdmissionPolicyBinding
1 metadata ObjectMeta
2 spec MutatingAdmissionPolicyBindingSpec

type ValidatingAdmissionPolicySpec
1 paramKind *ParamKind
2 matchConstraints *MatchResources
3 validations []Validation
4 failurePolicy *string
5 auditAnnotations []AuditAnnotation
6 matchConditions []MatchCondition map=name merge=name
7 variables []Variable map=name merge=name

type ValidatingAdmissionPolicyStatus
1 observedGeneration int64
2 typeChecking *TypeChecking
3 conditions []Condition map=type

type ValidatingAdmissionPolicyBindingSpec
1 policyName string
2 paramRef *ParamRef
3 matchResources *MatchResources
4 validationActions []string set

type MutatingAdmissionPolicySpec
1 paramKind *ParamKind
2 matchConstraints *MatchResources
3 variables []Variable
4 mutations []Mutation
5 failurePolicy *string
6 matchConditions []MatchCondition map=name merge=name
7 reinvocationPolicy string

type MutatingAdmissionPolicyBindingSpec
1 policyName string
2 paramRef *ParamRef
3 matchResources *MatchResources

type ParamKind atomic
1 apiVersion string
2 kind string

type MatchResources atomic
1 namespaceSelector *LabelSelector
2 objectSelector *LabelSelector
3 resourceRules []NamedRuleWithOperations
4 excludeResourceRules []NamedRuleWithOperations
7 matchPolicy *string

type Validation
1 expression string !
2 message string
3 reason *string
4 messageExpression string

type AuditAnnotation
1 key string !
2 valueExpression string !

type MatchCondition
1 name string !
2 expression string !

type Variable atomic
1 name string !
2 expression string !

type TypeChecking
1 expressionWarnings []ExpressionWarning

type ParamRef atomic
1 name string
2 namespace string
3 selector *LabelSelector
4 parameterNotFoundAction *string

type Mutation
2 patchType string !
3 applyConfiguration *ApplyConfiguration
4 jsonPatch *JSONPatch

type RuleWithOperations
1 operations []string
2 rule Rule inline

type NamedRuleWithOperations atomic
1 resourceNames []string
2 ruleWithOperations RuleWithOperations inline

type ExpressionWarning
2 fieldRef string !
3 warning string !

type ApplyConfiguration
1 expression string

type JSONPatch
1 expression string

type Rule
1 apiGroups []string
2 apiVersions []string
3 resources []string
4 scope *string
)"}};
}

}  // namespace dra::apiserver
