// Go's text form of durations, as flags, query parameters and CEL's duration() take it.
#pragma once

#include <string_view>

#include "pkg/base/clock.h"
#include "pkg/base/error.h"

namespace dra {

// time.ParseDuration: "2s", "1m30s", "500ms", "-1.5h"; at most 292 years either way. The error's text is Go's.
Result<Duration> parse_go_duration(std::string_view text);

}  // namespace dra
