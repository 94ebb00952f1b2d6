// Whether an object asks for pairs or rails at all: for those who place nothing and say so. Pure.
#pragma once

#include <string_view>

#include "pkg/api/meta.h"

namespace dra::alignment {

// The first of the three annotations among these; empty: there is none.
std::string_view first_annotation(const api::StringMap& annotations);

}  // namespace dra::alignment
