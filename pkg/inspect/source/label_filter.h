// Label selectors in the syntax of kubectl's -l: "a=b,c!=d,e in (f,g),h,!i". Pure.
#pragma once

#include <string_view>

#include "pkg/api/meta.h"
#include "pkg/base/error.h"

namespace dra::inspect {

// An empty text selects everything. An error names the unreadable part.
Result<api::LabelSelector> parse_label_selector(std::string_view text);

}  // namespace dra::inspect
