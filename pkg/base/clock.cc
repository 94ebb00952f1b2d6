#include "pkg/base/clock.h"

#include <time.h>

#include <cstdio>

namespace dra {
namespace {

struct Civil {
  int year;
  unsigned month, day, hour, minute, second;
  int64_t micros;
};

Civil to_civil(WallTime t) {
  using namespace std::chrono;
  const auto day_point = floor<days>(t);
  const year_month_day ymd{day_point};
  const hh_mm_ss<nanoseconds> time{t - day_point};
  return {int(ymd.year()),
          unsigned(ymd.month()),
          unsigned(ymd.day()),
          unsigned(time.hours().count()),
          unsigned(time.minutes().count()),
          unsigned(time.seconds().count()),
          duration_cast<microseconds>(time.subseconds()).count()};
}

bool read_digits(const char*& p, const char* end, int count, int& out) {
  out = 0;
  for (int i = 0; i < count; ++i, ++p) {
    if (p == end || *p < '0' || *p > '9') return false;
    out = out * 10 + (*p - '0');
  }
  return true;
}

bool read_char(const char*& p, const char* end, char c) {
  if (p == end || *p != c) return false;
  ++p;
  return true;
}

// Reads ".123456789" as nanoseconds; drops digits after the ninth.
bool read_fraction(const char*& p, const char* end, int64_t& nanos) {
  nanos = 0;
  if (p == end || *p != '.') return true;
  ++p;
  int digits = 0;
  for (; p != end && *p >= '0' && *p <= '9'; ++p) {
    if (digits < 9) {
      nanos = nanos * 10 + (*p - '0');
      ++digits;
    }
  }
  if (digits == 0) return false;
  for (; digits < 9; ++digits) nanos *= 10;
  return true;
}

bool read_offset(const char*& p, const char* end, int& seconds) {
  seconds = 0;
  if (p == end) return false;
  if (*p == 'Z' || *p == 'z') {
    ++p;
    return true;
  }
  const int sign = *p == '+' ? 1 : *p == '-' ? -1 : 0;
  if (sign == 0) return false;
  ++p;
  int h = 0, m = 0;
  if (!read_digits(p, end, 2, h) || !read_char(p, end, ':') || !read_digits(p, end, 2, m)) return false;
  seconds = sign * (h * 3600 + m * 60);
  return true;
}

}  // namespace

WallTime SystemClock::wall_now() const {
  return std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now());
}
MonoTime SystemClock::mono_now() const {
  return std::chrono::time_point_cast<Duration>(std::chrono::steady_clock::now());
}

Duration thread_processor_time() {
  timespec used{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return std::chrono::seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec);
}

std::string format_rfc3339(WallTime t) {
  const Civil c = to_civil(t);
  if (c.year < 0 || c.year > 9999) {
    char text[48];
    std::snprintf(text, sizeof text, "%04d-%02u-%02uT%02u:%02u:%02uZ", c.year, c.month, c.day, c.hour, c.minute,
                  c.second);
    return text;
  }
  // Every object that is read has some times in it: this is ten times as fast as snprintf.
  std::string text = "0000-00-00T00:00:00Z";
  const auto put = [&text](size_t at, unsigned two_digits) {
    text[at] = static_cast<char>('0' + two_digits / 10);
    text[at + 1] = static_cast<char>('0' + two_digits % 10);
  };
  const auto year = static_cast<unsigned>(c.year);
  put(0, year / 100);
  put(2, year % 100);
  put(5, c.month);
  put(8, c.day);
  put(11, c.hour);
  put(14, c.minute);
  put(17, c.second);
  return text;
}

std::string format_rfc3339_micro(WallTime t) {
  const Civil c = to_civil(t);
  char text[64];
  std::snprintf(text, sizeof text, "%04d-%02u-%02uT%02u:%02u:%02u.%06lldZ", c.year, c.month, c.day, c.hour, c.minute,
                c.second, static_cast<long long>(c.micros));
  return text;
}

bool parse_rfc3339(const std::string& text, WallTime& out) {
  using namespace std::chrono;
  const char* p = text.data();
  const char* end = p + text.size();
  int y = 0, mo = 0, d = 0, h = 0, mi = 0, s = 0, offset = 0;
  int64_t nanos = 0;
  if (!read_digits(p, end, 4, y) || !read_char(p, end, '-') || !read_digits(p, end, 2, mo) || !read_char(p, end, '-') ||
      !read_digits(p, end, 2, d) || p == end || (*p != 'T' && *p != 't'))
    return false;
  ++p;
  if (!read_digits(p, end, 2, h) || !read_char(p, end, ':') || !read_digits(p, end, 2, mi) || !read_char(p, end, ':') ||
      !read_digits(p, end, 2, s) || !read_fraction(p, end, nanos) || !read_offset(p, end, offset) || p != end)
    return false;
  const year_month_day ymd{year{y}, month{unsigned(mo)}, day{unsigned(d)}};
  if (!ymd.ok() || h > 23 || mi > 59 || s > 60) return false;
  out = WallTime{sys_days{ymd}.time_since_epoch()} + hours{h} + minutes{mi} + seconds{s - offset} + nanoseconds{nanos};
  return true;
}

}  // namespace dra
