#include "pkg/cel/lib/time_zone_rule.h"

#include <array>

#include "pkg/cel/lib/time.h"

namespace dra::cel::lib {

namespace {

constexpr int64_t kDaySeconds = 86'400;

// Reads a rule from left to right; every step says whether it found what it wants.
class RuleReader {
 public:
  explicit RuleReader(std::string_view text) : rest_(text) {}

  bool done() const { return rest_.empty(); }
  bool at(char c) const { return rest_.starts_with(c); }
  bool take(char c) {
    if (!at(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  // Letters, or anything between < and >.
  bool abbreviation() {
    size_t length = 0;
    if (at('<')) {
      length = rest_.find('>');
      if (length == std::string_view::npos) return false;
      ++length;
    } else {
      while (length < rest_.size() && is_letter(rest_[length])) ++length;
      if (length < 3) return false;
    }
    rest_.remove_prefix(length);
    return true;
  }
  bool number(int low, int high, int& value) {
    size_t digits = 0;
    value = 0;
    while (digits < rest_.size() && digits < 4 && rest_[digits] >= '0' && rest_[digits] <= '9')
      value = value * 10 + (rest_[digits++] - '0');
    rest_.remove_prefix(digits);
    return digits > 0 && value >= low && value <= high;
  }
  // [+-]hh[:mm[:ss]]
  bool seconds(int64_t& value) {
    const bool negative = at('-');
    if (negative || at('+')) rest_.remove_prefix(1);
    int hours = 0;
    int minutes = 0;
    int secs = 0;
    if (!number(0, 24 * 7, hours)) return false;
    if (take(':') && !number(0, 59, minutes)) return false;
    if (take(':') && !number(0, 59, secs)) return false;
    value = (hours * 60 + minutes) * int64_t{60} + secs;
    if (negative) value = -value;
    return true;
  }
  bool change(ZoneChange& out) {
    if (take('M')) {
      out.kind = ZoneChange::Kind::kMonthWeekDay;
      if (!number(1, 12, out.month) || !take('.') || !number(1, 5, out.week) || !take('.') || !number(0, 6, out.day))
        return false;
    } else {
      const bool julian = take('J');
      out.kind = julian ? ZoneChange::Kind::kJulianNoLeap : ZoneChange::Kind::kZeroBased;
      if (!number(julian ? 1 : 0, 365, out.day)) return false;
    }
    return !take('/') || seconds(out.seconds);
  }

 private:
  static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

  std::string_view rest_;
};

bool is_leap(int64_t year) {
  return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

// Seconds from the start of the year to a change, in local time.
int64_t change_in_year(const ZoneChange& change, int64_t year, int first_weekday) {
  static constexpr std::array<int, 12> kBefore = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334};
  static constexpr std::array<int, 12> kLength = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  const int leap = is_leap(year) ? 1 : 0;
  int day = 0;
  if (change.kind == ZoneChange::Kind::kZeroBased) {
    day = change.day;
  } else if (change.kind == ZoneChange::Kind::kJulianNoLeap) {
    day = change.day - 1 + (change.day >= 60 ? leap : 0);
  } else {
    const auto month = static_cast<size_t>(change.month) - 1;
    const int first = kBefore[month] + (month > 1 ? leap : 0);
    const int length = kLength[month] + (month == 1 ? leap : 0);
    int in_month = ((change.day - (first_weekday + first)) % 7 + 7) % 7 + (change.week - 1) * 7;
    while (in_month >= length) in_month -= 7;  // week 5 means the last one
    day = first + in_month;
  }
  return day * kDaySeconds + change.seconds;
}

}  // namespace

std::optional<ZoneRule> parse_zone_rule(std::string_view text) {
  RuleReader in(text);
  ZoneRule rule;
  int64_t west = 0;
  if (!in.abbreviation() || !in.seconds(west)) return std::nullopt;
  rule.standard_offset = -west;
  if (in.done()) return rule;
  if (!in.abbreviation()) return std::nullopt;
  rule.has_daylight = true;
  rule.daylight_offset = rule.standard_offset + 3600;
  if (!in.done() && !in.at(',')) {
    if (!in.seconds(west)) return std::nullopt;
    rule.daylight_offset = -west;
  }
  if (!in.take(',') || !in.change(rule.start) || !in.take(',') || !in.change(rule.end) || !in.done())
    return std::nullopt;
  return rule;
}

int64_t rule_offset(const ZoneRule& rule, int64_t unix_seconds) {
  if (!rule.has_daylight) return rule.standard_offset;
  // The year and what is gone of it are taken in standard time, the hours around New Year being no time of change.
  const Timestamp local{unix_seconds + rule.standard_offset, 0, 0};
  const int64_t year = timestamp_field(local, TimeField::kFullYear);
  const int64_t day_of_year = timestamp_field(local, TimeField::kDayOfYear);
  const int64_t in_day = ((local.seconds % kDaySeconds) + kDaySeconds) % kDaySeconds;
  const int64_t in_year = day_of_year * kDaySeconds + in_day;
  const int64_t weekday = timestamp_field(local, TimeField::kDayOfWeek);
  const auto first_weekday = static_cast<int>(((weekday - day_of_year) % 7 + 7) % 7);
  // The end is written in daylight time.
  const int64_t start = change_in_year(rule.start, year, first_weekday);
  const int64_t end = change_in_year(rule.end, year, first_weekday) - (rule.daylight_offset - rule.standard_offset);
  const bool daylight = start < end ? in_year >= start && in_year < end : in_year >= start || in_year < end;
  return daylight ? rule.daylight_offset : rule.standard_offset;
}

}  // namespace dra::cel::lib
