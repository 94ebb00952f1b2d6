#include "pkg/apiserver/schema/tables.h"

namespace dra::apiserver::schema_tables {

// k8s.io/api/authorization/v1 of 1.36.
std::string_view authorization_v1() {
  return R"(
type SubjectAccessReview
1 metadata ObjectMeta
2 spec SubjectAccessReviewSpec
3 status SubjectAccessReviewStatus

type SelfSubjectAccessReview
1 metadata ObjectMeta
2 spec SelfSubjectAccessReviewSpec
3 status SubjectAccessReviewStatus

type LocalSubjectAccessReview
1 metadata ObjectMeta
2 spec SubjectAccessReviewSpec
3 status SubjectAccessReviewStatus

type ResourceAttributes
1 namespace string
2 verb string
3 group string
4 version string
5 resource string
6 subresource string
7 name string
8 fieldSelector *FieldSelectorAttributes
9 labelSelector *LabelSelectorAttributes

type LabelSelectorAttributes
1 rawSelector string
2 requirements []LabelSelectorRequirement

type FieldSelectorAttributes
1 rawSelector string
2 requirements []FieldSelectorRequirement

type NonResourceAttributes
1 path string
2 verb string

type SubjectAccessReviewSpec
1 resourceAttributes *ResourceAttributes
2 nonResourceAttributes *NonResourceAttributes
3 user string
4 groups []string
5 extra map[string][]string
6 uid string

type SelfSubjectAccessReviewSpec
1 resourceAttributes *ResourceAttributes
2 nonResourceAttributes *NonResourceAttributes

type SubjectAccessReviewStatus
1 allowed bool !
4 denied bool
2 reason string
3 evaluationError string

type SelfSubjectRulesReview
1 metadata ObjectMeta
2 spec SelfSubjectRulesReviewSpec
3 status SubjectRulesReviewStatus

type SelfSubjectRulesReviewSpec
1 namespace string

type SubjectRulesReviewStatus
1 resourceRules []ResourceRule !
2 nonResourceRules []NonResourceRule !
3 incomplete bool !
4 evaluationError string

type ResourceRule
1 verbs []string !
2 apiGroups []string
3 resources []string
4 resourceNames []string

type NonResourceRule
1 verbs []string !
2 nonResourceURLs []string
)";
}

}  // namespace dra::apiserver::schema_tables
