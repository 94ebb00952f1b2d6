// The schema tables of this build, one function a package (core/v1 and resource/* in several parts); tables.cc lists
// them. Format: pkg/apiserver/schema.h. Only types that a served kind reaches are there.
#pragma once

#include <string_view>

namespace dra::apiserver::schema_tables {

std::string_view meta_v1();
std::string_view core_v1_volumes();
std::string_view core_v1_containers();
std::string_view core_v1_pods();
std::string_view core_v1_podstatus();
std::string_view core_v1_cluster();
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
std::string_view resource_shared();
std::string_view resource_taint_rules();
std::string_view resource_v1();
std::string_view resource_v1beta1();
std::string_view scheduling_v1();

}  // namespace dra::apiserver::schema_tables
