// Label selectors as kubectl's -l takes them: "a=b,c!=d,e in (f,g),h,!i". Pure.
#pragma once

#include <string_view>

#include "pkg/api/meta.h"
#include "pkg/base/error.h"

namespace dra::inspect {

// An empty text selects everything. An error names the part that cannot be read.
Result<api::LabelSelector> parse_label_selector(std::string_view text);

}  // namespace dra::inspect
