// The footer of a TZif file: POSIX TZ rules ("EST5EDT,M3.2.0,M11.1.0"), with RFC 8536's extensions.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace dra::cel::lib {

// When daylight saving starts or ends each year.
struct ZoneChange {
  enum class Kind : uint8_t { kMonthWeekDay, kJulianNoLeap, kZeroBased };
  Kind kind = Kind::kMonthWeekDay;
  int month = 0, week = 0, day = 0;  // day: of the week, or of the year
  int64_t seconds = 7200;            // local time of day, may be negative or beyond a day
};

struct ZoneRule {
  int64_t standard_offset = 0;  // seconds east
  bool has_daylight = false;
  int64_t daylight_offset = 0;
  ZoneChange start;
  ZoneChange end;
};

// None when the text is no such rule.
std::optional<ZoneRule> parse_zone_rule(std::string_view text);
int64_t rule_offset(const ZoneRule& rule, int64_t unix_seconds);

}  // namespace dra::cel::lib
