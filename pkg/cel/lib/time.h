// Durations and timestamps: Go's time.ParseDuration and RFC 3339 parsing, cel-go's conversions and getters.
//
// Durations are int64 nanoseconds. Pure, except that IANA time zones are read from the system's tzdata on first use and
// kept (bounded, thread-safe).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "pkg/cel/lib/outcome.h"

namespace dra::cel::lib {

struct Timestamp {
  int64_t seconds = 0;         // Unix, rounded down
  uint32_t nanos = 0;          // 0 .. 999'999'999
  int16_t offset_minutes = 0;  // the offset it was written with; only string() shows it
};

// 0001-01-01T00:00:00Z and 9999-12-31T23:59:59Z in Unix seconds: what a timestamp may be.
inline constexpr int64_t kMinTimestampSeconds = -62'135'596'800;
inline constexpr int64_t kMaxTimestampSeconds = 253'402'300'799;

Outcome<int64_t> parse_duration(std::string_view text);
// "90s", "0.1s": string(duration).
std::string format_duration(int64_t nanos);

Outcome<Timestamp> parse_timestamp(std::string_view text);
std::string format_timestamp(const Timestamp& t);

enum class TimeField : uint8_t {
  kFullYear,
  kMonth,       // 0 .. 11
  kDayOfYear,   // from 0
  kDayOfMonth,  // from 0
  kDate,        // day of the month from 1
  kDayOfWeek,   // 0: Sunday
  kHours,
  kMinutes,
  kSeconds,
  kMilliseconds,
};
// In UTC.
int64_t timestamp_field(const Timestamp& t, TimeField field);
// `zone`: an IANA name, "", "UTC" or "+hh:mm".
Outcome<int64_t> timestamp_field(const Timestamp& t, TimeField field, std::string_view zone);
// kHours .. kMilliseconds: the whole duration in that unit, truncated.
int64_t duration_field(int64_t nanos, TimeField field);

}  // namespace dra::cel::lib
