// The schema tables of this build, one function a package; tables.cc lists them. Format: pkg/apiserver/schema.h.
#pragma once

#include <string_view>

namespace dra::apiserver::schema_tables {

std::string_view meta_v1();

}  // namespace dra::apiserver::schema_tables
