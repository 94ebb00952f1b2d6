// Go's text form of durations, as query parameters carry it. Internal to this room.
#pragma once

#include <string>
#include <string_view>

#include "pkg/base/clock.h"
#include "pkg/base/error.h"

namespace dra::apiserver {

// time.ParseDuration, limited to a day: "2s", "1m30s", "500ms", "-1s". The error's text is Go's.
Result<Duration> parse_go_duration(std::string_view text);

}  // namespace dra::apiserver
