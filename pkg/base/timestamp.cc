#include "pkg/base/timestamp.h"

#include <algorithm>
#include <cstdio>
#include <limits>

namespace dra {
namespace {

constexpr int64_t kDay = 24 * 3600;
constexpr int64_t kLastSecond = std::numeric_limits<int64_t>::max();
constexpr int64_t kFirstSecond = std::numeric_limits<int64_t>::min();
constexpr int32_t kNanos = 1'000'000'000;

int64_t saturating_add(int64_t a, int64_t b) {
  int64_t sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return b > 0 ? kLastSecond : kFirstSecond;
}

int64_t saturating_subtract(int64_t a, int64_t b) {
  int64_t difference = 0;
  if (!__builtin_sub_overflow(a, b, &difference)) return difference;
  return b < 0 ? kLastSecond : kFirstSecond;
}

// Whole seconds, rounded down, and the nanoseconds after them. std::chrono::floor overflows close to the smallest
// value.
int64_t seconds_of(std::chrono::nanoseconds duration) {
  return duration.count() / kNanos - (duration.count() % kNanos < 0 ? 1 : 0);
}

int32_t rest_of(std::chrono::nanoseconds duration) {
  const int64_t rest = duration.count() % kNanos;
  return static_cast<int32_t>(rest < 0 ? rest + kNanos : rest);
}

struct Date {
  int64_t year;
  unsigned month, day;
};

// The calendar repeats every 400 years, which have 146,097 days. Years are counted from March on, so that a leap day
// is the last day of one; 1970-01-01 is day 719,468 after 0000-03-01.
Date date_of(int64_t days) {
  days += 719'468;
  const int64_t era = (days >= 0 ? days : days - 146'096) / 146'097;
  const int64_t day_of_era = days - era * 146'097;
  const int64_t year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36'524 - day_of_era / 146'096) / 365;
  const int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const int64_t month_from_march = (5 * day_of_year + 2) / 153;
  const auto day = static_cast<unsigned>(day_of_year - (153 * month_from_march + 2) / 5 + 1);
  const auto month = static_cast<unsigned>(month_from_march < 10 ? month_from_march + 3 : month_from_march - 9);
  return {era * 400 + year_of_era + (month <= 2 ? 1 : 0), month, day};
}

struct Fields {
  Date date;
  unsigned hour, minute, second;
};

Fields fields_of(Timestamp time) {
  int64_t days = time.seconds() / kDay, rest = time.seconds() % kDay;
  if (rest < 0) rest += kDay, --days;
  const auto second_of_day = static_cast<unsigned>(rest);
  return {date_of(days), second_of_day / 3600, second_of_day / 60 % 60, second_of_day % 60};
}

void append_two_digits(std::string& text, unsigned value) {
  text += static_cast<char>('0' + value / 10);
  text += static_cast<char>('0' + value % 10);
}

void append_year(std::string& text, int64_t year) {
  if (year >= 0 && year <= 9999) {
    append_two_digits(text, static_cast<unsigned>(year / 100));
    append_two_digits(text, static_cast<unsigned>(year % 100));
    return;
  }
  const std::string digits = std::to_string(year < 0 ? -year : year);
  if (year < 0) text += '-';
  if (digits.size() < 4) text.append(4 - digits.size(), '0');
  text += digits;
}

// Without the zone. Every object that is read has some times in it: this is ten times as fast as snprintf.
std::string text_of(Timestamp time) {
  const Fields fields = fields_of(time);
  std::string text;
  text.reserve(32);
  append_year(text, fields.date.year);
  text += '-';
  append_two_digits(text, fields.date.month);
  text += '-';
  append_two_digits(text, fields.date.day);
  text += 'T';
  append_two_digits(text, fields.hour);
  text += ':';
  append_two_digits(text, fields.minute);
  text += ':';
  append_two_digits(text, fields.second);
  return text;
}

// Reads one text from front to back; every read_...() returns false if something else stands there.
class Reader {
 public:
  explicit Reader(std::string_view text) : at_(text.data()), end_(text.data() + text.size()) {}

  bool at_end() const { return at_ == end_; }

  bool read(char a, char b) {
    if (at_ == end_ || (*at_ != a && *at_ != b)) return false;
    ++at_;
    return true;
  }
  bool read(char c) { return read(c, c); }

  bool read_two_digits(unsigned& value) {
    if (end_ - at_ < 2 || !is_digit(at_[0]) || !is_digit(at_[1])) return false;
    value = static_cast<unsigned>((at_[0] - '0') * 10 + (at_[1] - '0'));
    at_ += 2;
    return true;
  }

  // Four digits, or more of them, not with a zero in front; a sign makes the year negative. Twelve digits are more than
  // 64-bit seconds can name.
  bool read_year(int64_t& year) {
    const bool negative = read('-');
    const char* first = at_;
    year = 0;
    for (; at_ != end_ && is_digit(*at_) && at_ - first < 12; ++at_) year = year * 10 + (*at_ - '0');
    if (negative) year = -year;
    return at_ - first == 4 || (at_ - first > 4 && *first != '0');
  }

  // ".5" or nothing; digits after the ninth are dropped.
  bool read_fraction(int32_t& nanos) {
    nanos = 0;
    if (!read('.')) return true;
    int digits = 0;
    for (; at_ != end_ && is_digit(*at_); ++at_)
      if (digits < 9) nanos = nanos * 10 + (*at_ - '0'), ++digits;
    if (digits == 0) return false;
    for (; digits < 9; ++digits) nanos *= 10;
    return true;
  }

  bool read_offset(int64_t& seconds) {
    seconds = 0;
    if (read('Z', 'z')) return true;
    const bool negative = at_ != end_ && *at_ == '-';
    unsigned hours = 0, minutes = 0;
    if (!read('+', '-') || !read_two_digits(hours) || !read(':') || !read_two_digits(minutes)) return false;
    seconds = int64_t{hours} * 3600 + minutes * 60;
    if (negative) seconds = -seconds;
    return true;
  }

 private:
  static bool is_digit(char c) { return c >= '0' && c <= '9'; }

  const char* at_;
  const char* end_;
};

}  // namespace

Timestamp::Timestamp(WallTime time) : seconds_(seconds_of(time.time_since_epoch())) {
  nanos_ = rest_of(time.time_since_epoch());
}

Timestamp Timestamp::plus_seconds(int64_t seconds) const {
  return {saturating_add(seconds_, seconds), nanos_};
}

Timestamp operator+(Timestamp time, Duration delay) {
  Timestamp out = time.plus_seconds(seconds_of(delay));
  out.nanos_ += rest_of(delay);
  if (out.nanos_ >= kNanos) {
    out.nanos_ -= kNanos;
    out = out.plus_seconds(1);
  }
  return out;
}

Duration operator-(Timestamp end, Timestamp begin) {
  constexpr int64_t kMost = std::chrono::duration_cast<std::chrono::seconds>(Timestamp::kFarthest).count();
  const int64_t seconds = saturating_subtract(end.seconds_, begin.seconds_);
  if (seconds >= kMost) return Timestamp::kFarthest;
  if (seconds <= -kMost) return -Timestamp::kFarthest;
  return std::chrono::seconds(seconds) + std::chrono::nanoseconds(end.nanos_ - begin.nanos_);
}

int64_t seconds_between(Timestamp begin, Timestamp end) {
  constexpr int64_t kMost = 9'223'372'036;
  if (end < begin) return -seconds_between(end, begin);
  const int64_t seconds = saturating_subtract(end.seconds(), begin.seconds());
  return std::min(kMost, seconds - (end.nanos() < begin.nanos() ? 1 : 0));
}

std::string format_rfc3339(Timestamp time) {
  return text_of(time) + 'Z';
}

std::string format_rfc3339_micro(Timestamp time) {
  char fraction[16];
  std::snprintf(fraction, sizeof fraction, ".%06dZ", static_cast<int>(time.nanos() / 1000));
  return text_of(time) + fraction;
}

bool parse_rfc3339(std::string_view text, Timestamp& out) {
  Reader reader(text);
  int64_t year = 0, offset = 0;
  unsigned month = 0, day = 0, hour = 0, minute = 0, second = 0;
  int32_t nanos = 0;
  if (!reader.read_year(year) || !reader.read('-') || !reader.read_two_digits(month) || !reader.read('-') ||
      !reader.read_two_digits(day) || !reader.read('T', 't') || !reader.read_two_digits(hour) || !reader.read(':') ||
      !reader.read_two_digits(minute) || !reader.read(':') || !reader.read_two_digits(second) ||
      !reader.read_fraction(nanos) || !reader.read_offset(offset) || !reader.at_end())
    return false;
  if (day < 1 || day > days_of_month(year, month) || hour > 23 || minute > 59 || second > 60) return false;
  const int64_t midnight =
      std::clamp(days_since_epoch(year, month, day), kFirstSecond / kDay + 2, kLastSecond / kDay - 2);
  out = Timestamp::at(midnight * kDay + hour * 3600 + minute * 60 + second - offset, nanos);
  return true;
}

int64_t days_since_epoch(int64_t year, unsigned month, unsigned day) {
  if (month <= 2) --year;
  const int64_t era = (year >= 0 ? year : year - 399) / 400;
  const int64_t year_of_era = year - era * 400;
  const int64_t day_of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;
  const int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
  return era * 146'097 + day_of_era - 719'468;
}

unsigned days_of_month(int64_t year, unsigned month) {
  static constexpr unsigned kDays[] = {0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  if (month == 0 || month > 12) return 0;
  const bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
  return kDays[month] + (month == 2 && leap ? 1 : 0);
}

}  // namespace dra
