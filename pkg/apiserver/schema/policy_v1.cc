#include "pkg/apiserver/schema/tables.h"

namespace dra::apiserver::schema_tables {

// k8s.io/api/policy/v1 of 1.36.
std::string_view policy_v1() {
  return R"(
type Eviction
1 metadata ObjectMeta
2 deleteOptions *DeleteOptions
)";
}

}  // namespace dra::apiserver::schema_tables
