// The schema tables of this folder (format: pkg/api/schema/schema.h). Internal to it.
#pragma once

#include <string_view>

namespace dra::apiserver {

std::string_view core_volume_table();
std::string_view storage_table();

}  // namespace dra::apiserver
