#include "pkg/cel/lib/time.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <limits>

#include "pkg/base/go_duration.h"
#include "pkg/base/strings.h"
#include "pkg/cel/lib/time_zone.h"

namespace dra::cel::lib {

namespace {

constexpr int64_t kNanosPerSecond = 1'000'000'000;

bool is_time_digit(char c) {
  return c >= '0' && c <= '9';
}

tl::unexpected<Failure> time_conversion_error(const char* type) {
  return failure(RuntimeCategory::kConversion,
                 std::string("type conversion error from 'string' to 'google.protobuf.") + type + "'");
}

// --- RFC 3339

// Exactly `count` digits, or, for hours, one or two.
bool take_number(std::string_view& text, size_t count, int& value, bool shorter = false) {
  size_t n = 0;
  value = 0;
  while (n < count && n < text.size() && is_time_digit(text[n])) value = value * 10 + (text[n++] - '0');
  if (n != count && !(shorter && n > 0)) return false;
  text.remove_prefix(n);
  return true;
}

bool take_char(std::string_view& text, char c) {
  if (!text.starts_with(c)) return false;
  text.remove_prefix(1);
  return true;
}

// Digits behind '.' or ','; what is finer than a nanosecond is cut off.
uint32_t take_nanos(std::string_view& text) {
  if (text.size() < 2 || (text[0] != '.' && text[0] != ',') || !is_time_digit(text[1])) return 0;
  text.remove_prefix(1);
  uint32_t nanos = 0;
  uint32_t unit = 100'000'000;
  for (; !text.empty() && is_time_digit(text.front()); text.remove_prefix(1)) {
    nanos += unit * static_cast<uint32_t>(text.front() - '0');
    unit /= 10;
  }
  return nanos;
}

// Z or an offset; Go takes hours up to 24 and minutes up to 60.
bool take_offset(std::string_view& text, int& minutes) {
  minutes = 0;
  if (take_char(text, 'Z')) return true;
  if (text.empty() || (text.front() != '+' && text.front() != '-')) return false;
  const int sign = text.front() == '-' ? -1 : 1;
  text.remove_prefix(1);
  int hours = 0;
  if (!take_number(text, 2, hours) || !take_char(text, ':') || !take_number(text, 2, minutes)) return false;
  if (hours > 24 || minutes > 60) return false;
  minutes = sign * (hours * 60 + minutes);
  return true;
}

void append_padded(std::string& out, int64_t value, size_t width) {
  const std::string digits = std::to_string(value);
  out.append(width - std::min(width, digits.size()), '0');
  out += digits;
}

// --- fields

// Seconds since 1970 as a day of the calendar and the seconds in it.
struct CivilTime {
  explicit CivilTime(int64_t seconds)
      : day(std::chrono::floor<std::chrono::days>(std::chrono::sys_seconds(std::chrono::seconds(seconds)))),
        in_day((std::chrono::sys_seconds(std::chrono::seconds(seconds)) - day).count()),
        date(day) {}

  std::chrono::sys_days day;
  int64_t in_day;
  std::chrono::year_month_day date;
};

int64_t number_of(std::chrono::day day) {
  return static_cast<unsigned>(day);
}
int64_t number_of(std::chrono::month month) {
  return static_cast<unsigned>(month);
}

int64_t field_at(int64_t local_seconds, uint32_t nanos, TimeField field) {
  const CivilTime t(local_seconds);
  switch (field) {
    case TimeField::kHours:
      return t.in_day / 3600;
    case TimeField::kMinutes:
      return t.in_day / 60 % 60;
    case TimeField::kSeconds:
      return t.in_day % 60;
    case TimeField::kMilliseconds:
      return nanos / 1'000'000;
    case TimeField::kDayOfWeek:
      return std::chrono::weekday(t.day).c_encoding();
    case TimeField::kFullYear:
      return static_cast<int>(t.date.year());
    case TimeField::kMonth:
      return number_of(t.date.month()) - 1;
    case TimeField::kDayOfYear:
      return (t.day - std::chrono::sys_days(t.date.year() / std::chrono::January / 1)).count();
    case TimeField::kDayOfMonth:
      return number_of(t.date.day()) - 1;
    default:
      return number_of(t.date.day());
  }
}

// strconv.Atoi with its texts.
Outcome<int64_t> zone_number(std::string_view text) {
  const bool negative = text.starts_with('-');
  std::string_view digits = text;
  if (negative || digits.starts_with('+')) digits.remove_prefix(1);
  const bool numeric = !digits.empty() && std::all_of(digits.begin(), digits.end(), is_time_digit);
  if (!numeric)
    return failure(RuntimeCategory::kTimeZone, "strconv.Atoi: parsing " + dra::quote(text) + ": invalid syntax");
  int64_t value = 0;
  const auto result = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (result.ec != std::errc())
    return failure(RuntimeCategory::kTimeZone, "strconv.Atoi: parsing " + dra::quote(text) + ": value out of range");
  return negative ? -value : value;
}

// "hh:mm" as seconds east of UTC. The numbers have no bounds upstream; the arithmetic wraps around.
Outcome<int64_t> numeric_offset(std::string_view zone, size_t colon) {
  const auto hours = zone_number(zone.substr(0, colon));
  if (!hours) return tl::unexpected<Failure>(hours.error());
  const auto minutes = zone_number(zone.substr(colon + 1));
  if (!minutes) return tl::unexpected<Failure>(minutes.error());
  const auto h = static_cast<uint64_t>(*hours) * 60;
  const auto m = static_cast<uint64_t>(*minutes);
  const uint64_t total = zone.front() == '-' ? h - m : h + m;
  const auto nanos = static_cast<int64_t>(total * static_cast<uint64_t>(60 * kNanosPerSecond));
  return nanos / kNanosPerSecond;
}

}  // namespace

Outcome<int64_t> parse_duration(std::string_view text) {
  const auto parsed = parse_go_duration(text);
  if (!parsed) return time_conversion_error("Duration");
  return parsed->count();
}

std::string format_duration(int64_t nanos) {
  const int64_t whole = nanos / kNanosPerSecond;
  const double seconds = static_cast<double>(whole) + static_cast<double>(nanos % kNanosPerSecond) / 1e9;
  char buffer[64];
  const auto result = std::to_chars(buffer, buffer + sizeof buffer, seconds, std::chars_format::fixed);
  return std::string(buffer, result.ptr) + "s";
}

Outcome<Timestamp> parse_timestamp(std::string_view text) {
  int year = 0;
  int month = 0;
  int day = 0;
  int hour = 0;
  int minute = 0;
  int second = 0;
  const bool shaped = take_number(text, 4, year) && take_char(text, '-') && take_number(text, 2, month) &&
                      take_char(text, '-') && take_number(text, 2, day) && take_char(text, 'T') &&
                      take_number(text, 2, hour, true) && take_char(text, ':') && take_number(text, 2, minute) &&
                      take_char(text, ':') && take_number(text, 2, second);
  if (!shaped) return time_conversion_error("Timestamp");
  const uint32_t nanos = take_nanos(text);
  int offset = 0;
  if (!take_offset(text, offset) || !text.empty()) return time_conversion_error("Timestamp");
  const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!date.ok() || hour > 23 || minute > 59 || second > 59) return time_conversion_error("Timestamp");
  const int64_t midnight = std::chrono::sys_seconds(std::chrono::sys_days(date)).time_since_epoch().count();
  const int64_t seconds = midnight + hour * 3600 + minute * 60 + second - offset * 60;
  if (seconds < kMinTimestampSeconds || seconds > kMaxTimestampSeconds)
    return failure(RuntimeCategory::kOverflow, "timestamp overflow");
  return Timestamp{seconds, nanos, static_cast<int16_t>(offset)};
}

std::string format_timestamp(const Timestamp& t) {
  const CivilTime local(t.seconds + t.offset_minutes * 60);
  std::string out;
  append_padded(out, static_cast<int>(local.date.year()), 4);
  out += '-';
  append_padded(out, number_of(local.date.month()), 2);
  out += '-';
  append_padded(out, number_of(local.date.day()), 2);
  out += 'T';
  append_padded(out, local.in_day / 3600, 2);
  out += ':';
  append_padded(out, local.in_day / 60 % 60, 2);
  out += ':';
  append_padded(out, local.in_day % 60, 2);
  if (t.nanos != 0) {
    out += '.';
    append_padded(out, t.nanos, 9);
    while (out.back() == '0') out.pop_back();
  }
  if (t.offset_minutes == 0) return out + "Z";
  const int offset = std::abs(static_cast<int>(t.offset_minutes));
  out += t.offset_minutes < 0 ? '-' : '+';
  append_padded(out, offset / 60, 2);
  out += ':';
  append_padded(out, offset % 60, 2);
  return out;
}

int64_t timestamp_field(const Timestamp& t, TimeField field) {
  return field_at(t.seconds, t.nanos, field);
}

Outcome<int64_t> timestamp_field(const Timestamp& t, TimeField field, std::string_view zone) {
  const size_t colon = zone.find(':');
  Outcome<int64_t> offset =
      colon == std::string_view::npos ? zone_offset(zone, t.seconds) : numeric_offset(zone, colon);
  if (!offset) return offset;
  return field_at(t.seconds + *offset, t.nanos, field);
}

int64_t duration_field(int64_t nanos, TimeField field) {
  switch (field) {
    case TimeField::kHours:
      return nanos / (3600 * kNanosPerSecond);
    case TimeField::kMinutes:
      return nanos / (60 * kNanosPerSecond);
    case TimeField::kSeconds:
      return nanos / kNanosPerSecond;
    default:
      return nanos / 1'000'000;
  }
}

}  // namespace dra::cel::lib
