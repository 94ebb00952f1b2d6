#include "pkg/apiserver/schema/tables.h"

namespace dra::apiserver::schema_tables {

// k8s.io/api/authentication/v1 of 1.36.
std::string_view authentication_v1() {
  return R"(
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
)";
}

}  // namespace dra::apiserver::schema_tables
