// The schema tables that only a server needs, one function per package; tables.cc lists them beside those of
// pkg/api/schema, which also defines the format. They contain only types that a served kind reaches.
#pragma once

#include <string_view>

namespace dra::apiserver::schema_tables {

std::string_view core_v1_quota();
std::string_view apps_v1();
std::string_view batch_v1();
std::string_view authentication_v1();
std::string_view authorization_v1();
std::string_view autoscaling_v1();
std::string_view coordination_v1();
std::string_view events_v1();
std::string_view policy_v1();
std::string_view rbac_v1();
std::string_view resource_taint_rules();
std::string_view scheduling_v1();

}  // namespace dra::apiserver::schema_tables
