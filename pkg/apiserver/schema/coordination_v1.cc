#include "pkg/apiserver/schema/tables.h"

namespace dra::apiserver::schema_tables {

// k8s.io/api/coordination/v1 of 1.36.
std::string_view coordination_v1() {
  return R"(
type Lease
1 metadata ObjectMeta
2 spec LeaseSpec

type LeaseSpec
1 holderIdentity *string
2 leaseDurationSeconds *int32
3 acquireTime *MicroTime
4 renewTime *MicroTime
5 leaseTransitions *int32
6 strategy *string
7 preferredHolder *string
)";
}

}  // namespace dra::apiserver::schema_tables
