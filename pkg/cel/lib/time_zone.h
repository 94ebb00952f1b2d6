// IANA time zones from the system's compiled tzdata (RFC 8536), read by cctz; names as Go's time.LoadLocation takes
// them.
//
// Thread-safe. Each zone is read once.
#pragma once

#include <cstdint>
#include <string_view>

#include "pkg/cel/lib/outcome.h"

namespace dra::cel::lib {

// Seconds east of UTC at a Unix time. "" and "UTC" are 0. Fails (kTimeZone) with "unknown time zone X".
Outcome<int64_t> zone_offset(std::string_view name, int64_t unix_seconds);

// Whether zone_offset() answers without looking for a file.
bool zone_is_at_hand(std::string_view name);

}  // namespace dra::cel::lib
