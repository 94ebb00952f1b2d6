#include "pkg/apiserver/schema/tables.h"

namespace dra::apiserver::schema_tables {

// DeviceTaintRule of k8s.io/api/resource/v1beta2 and v1alpha3 of 1.36, which have the same fields.
std::string_view resource_taint_rules() {
  return R"(
type DeviceTaintRule
1 metadata ObjectMeta
2 spec DeviceTaintRuleSpec
3 status DeviceTaintRuleStatus

type DeviceTaintRuleSpec
1 deviceSelector *DeviceTaintSelector
2 taint resource/v1.DeviceTaint !

type DeviceTaintSelector
2 driver *string
3 pool *string
4 device *string

type DeviceTaintRuleStatus
1 conditions []Condition map=type merge=type
)";
}

}  // namespace dra::apiserver::schema_tables
