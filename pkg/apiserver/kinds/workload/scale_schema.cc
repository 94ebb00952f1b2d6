#include "pkg/apiserver/kinds/workload/tables.h"

namespace dra::apiserver {

// k8s.io/api/autoscaling/v1 of 1.36.
std::string_view scale_table() {
  return R"(
type Scale
1 metadata ObjectMeta
2 spec ScaleSpec
3 status ScaleStatus

type ScaleSpec
1 replicas int32

type ScaleStatus
1 replicas int32 !
2 selector string
)";
}

}  // namespace dra::apiserver
