// The texts of the schema tables, one function per file, in the format of pkg/api/schema/schema.h. They list only types
// that are reachable from a kind in use.
#pragma once

#include <string_view>

namespace dra::api::schema::tables {

std::string_view meta_v1();
std::string_view core_v1_volumes();
std::string_view core_v1_containers();
std::string_view core_v1_pods();
std::string_view core_v1_podstatus();
std::string_view core_v1_cluster();
std::string_view resource_shared();
std::string_view resource_v1();
std::string_view resource_v1beta1();
std::string_view resource_137_shared();
std::string_view resource_137_v1();
std::string_view resource_137_v1beta1();

}  // namespace dra::api::schema::tables
