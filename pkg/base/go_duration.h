// Go's text form of durations, as used in flags, query parameters and CEL's duration().
#pragma once

#include <string_view>

#include "pkg/base/clock.h"
#include "pkg/base/error.h"

namespace dra {

// time.ParseDuration: "2s", "1m30s", "500ms", "-1.5h"; at most 292 years in either direction. Error texts are Go's.
Result<Duration> parse_go_duration(std::string_view text);

}  // namespace dra
