#include "pkg/apiserver/kinds/review/kinds.h"

namespace dra::apiserver {

// k8s.io/api/authentication/v1 and k8s.io/api/authorization/v1 of 1.36.
std::vector<SchemaTable> review_tables() {
  return {{"authentication/v1", R"(
type TokenReview
1 metadata ObjectMeta
2 spec TokenReviewSpec
3 status TokenReviewStatus

type TokenReviewSpec
1 token string
2 audiences []string

type TokenReviewStatus
1 authenticated bool
2 user UserInfo
4 audiences []string
3 error string

type UserInfo
1 username string
2 uid string
3 groups []string
4 extra map[string][]string

type TokenRequest
1 metadata ObjectMeta
2 spec TokenRequestSpec
3 status TokenRequestStatus

type TokenRequestSpec
1 audiences []string !
4 expirationSeconds *int64 !
3 boundObjectRef *BoundObjectReference !

type TokenRequestStatus
1 token string !
2 expirationTimestamp Time !

type BoundObjectReference
1 kind string
2 apiVersion string
3 name string
4 uid string

type SelfSubjectReview
1 metadata ObjectMeta
2 status SelfSubjectReviewStatus

type SelfSubjectReviewStatus
1 userInfo UserInfo
)"},
          {"authorization/v1", R"(
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
)"}};
}

void add_review_kinds(KindRegistry&) {}

}  // namespace dra::apiserver
