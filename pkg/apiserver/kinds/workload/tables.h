// The schema tables of this folder (format: pkg/api/schema/schema.h). Internal to it.
#pragma once

#include <string_view>

namespace dra::apiserver {

std::string_view apps_table();
std::string_view batch_table();
std::string_view replication_controller_table();
std::string_view scale_table();

}  // namespace dra::apiserver
