#include "pkg/apiserver/schema/tables.h"

namespace dra::apiserver::schema_tables {

// k8s.io/api/scheduling/v1 of 1.36.
std::string_view scheduling_v1() {
  return R"(
type PriorityClass
1 metadata ObjectMeta
2 value int32 !
3 globalDefault bool
4 description string
5 preemptionPolicy *string
)";
}

}  // namespace dra::apiserver::schema_tables
