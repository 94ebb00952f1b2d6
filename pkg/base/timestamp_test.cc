#include "pkg/base/timestamp.h"

#include <gtest/gtest.h>

#include <limits>

#include "pkg/base/random.h"

namespace dra::timestamp_test {

constexpr int64_t kMost = std::numeric_limits<int64_t>::max();

Timestamp parsed(const std::string& text) {
  Timestamp time;
  EXPECT_TRUE(parse_rfc3339(text, time)) << text;
  return time;
}

std::string padded(int64_t value, int width) {
  std::string digits = std::to_string(value < 0 ? -value : value);
  while (static_cast<int>(digits.size()) < width) digits.insert(0, "0");
  return (value < 0 ? "-" : "") + digits;
}

// An independent calendar: counts day by day, from a day whose number is known.
struct Calendar {
  int64_t year = 1970;
  int month = 1, day = 1;
  int64_t number = 0;  // days since 1970-01-01

  bool leap() const { return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0; }
  int length() const {
    if (month == 2) return leap() ? 29 : 28;
    return month == 4 || month == 6 || month == 9 || month == 11 ? 30 : 31;
  }
  void next() {
    ++number;
    if (++day <= length()) return;
    day = 1;
    if (++month <= 12) return;
    month = 1, ++year;
  }
  void previous() {
    --number;
    if (--day >= 1) return;
    if (--month < 1) month = 12, --year;
    day = length();
  }
  std::string date() const { return padded(year, 4) + "-" + padded(month, 2) + "-" + padded(day, 2); }
};

void check_day(const Calendar& calendar, SeededRandom& random) {
  const auto hour = static_cast<int64_t>(random.below(24)), minute = static_cast<int64_t>(random.below(60)),
             second = static_cast<int64_t>(random.below(60)), micros = static_cast<int64_t>(random.below(1'000'000));
  const std::string clock = "T" + padded(hour, 2) + ":" + padded(minute, 2) + ":" + padded(second, 2);
  const int64_t at = calendar.number * 86'400 + hour * 3600 + minute * 60 + second;
  const std::string text = calendar.date() + clock + "Z";
  const Timestamp time = parsed(text);
  ASSERT_EQ(time, Timestamp::at(at)) << text;
  ASSERT_EQ(format_rfc3339(time), text);
  ASSERT_EQ(format_rfc3339_micro(Timestamp::at(at, static_cast<int32_t>(micros * 1000))),
            calendar.date() + clock + "." + padded(micros, 6) + "Z");
  ASSERT_EQ(days_since_epoch(calendar.year, static_cast<unsigned>(calendar.month), static_cast<unsigned>(calendar.day)),
            calendar.number);
  const auto hours = static_cast<int64_t>(random.below(24)), minutes = static_cast<int64_t>(random.below(60));
  const bool east = random.below(2) == 0;
  ASSERT_EQ(parsed(calendar.date() + clock + (east ? "+" : "-") + padded(hours, 2) + ":" + padded(minutes, 2)),
            Timestamp::at(at + (east ? -1 : 1) * (hours * 3600 + minutes * 60)));
}

TEST(TimestampTest, AgreesWithACalendarThatCountsDaysFromYear0To10000) {
  SeededRandom random(41);
  const auto check = [&](const Calendar& calendar) {
    const bool edge = calendar.day == 1 || calendar.day == calendar.length();
    if (edge || random.below(30) == 0) check_day(calendar, random);
  };
  for (Calendar calendar; calendar.year <= 10'000; calendar.next()) check(calendar);
  for (Calendar calendar; calendar.year >= -1; calendar.previous()) check(calendar);
}

TEST(TimestampTest, KnowsNoDayThatTheCalendarLacks) {
  Timestamp time;
  for (const int64_t year : {0, 1, 4, 100, 400, 1900, 2000, 2023, 2024, 2100, 9999})
    for (int month = 0; month <= 13; ++month)
      for (int day = 0; day <= 32; ++day) {
        Calendar calendar;
        calendar.year = year, calendar.month = month;
        const bool exists = month >= 1 && month <= 12 && day >= 1 && day <= calendar.length();
        const std::string text = padded(year, 4) + "-" + padded(month, 2) + "-" + padded(day, 2) + "T12:00:00Z";
        EXPECT_EQ(parse_rfc3339(text, time), exists) << text;
      }
}

// The order of instants, what is printed and what is read back agree for every 64-bit count of seconds.
TEST(TimestampTest, ReadsBackWhatItPrintsInOrder) {
  SeededRandom random(7);
  for (int i = 0; i < 200'000; ++i) {
    const int64_t range = int64_t{1} << (1 + random.below(62));
    const auto any = [&] { return static_cast<int64_t>(random.below(static_cast<uint64_t>(range))) - range / 2; };
    const Timestamp a = Timestamp::at(any()), b = Timestamp::at(any());
    ASSERT_EQ(parsed(format_rfc3339(a)), a) << a.seconds();
    ASSERT_EQ(a < b, a.seconds() < b.seconds());
    const __int128 apart = static_cast<__int128>(a.seconds()) - b.seconds();
    const auto limit = std::chrono::duration_cast<std::chrono::seconds>(Timestamp::kFarthest).count();
    if (apart < limit && apart > -limit)
      ASSERT_EQ(a - b, std::chrono::seconds(static_cast<int64_t>(apart)));
    else
      ASSERT_EQ(a - b, apart > 0 ? Timestamp::kFarthest : -Timestamp::kFarthest);
  }
}

TEST(TimestampTest, NothingOverflows) {
  const Timestamp first = Timestamp::at(-kMost - 1), last = Timestamp::at(kMost, 999'999'999), epoch;
  EXPECT_EQ(last.plus_seconds(kMost), last);
  EXPECT_EQ(first.plus_seconds(-kMost), first);
  EXPECT_EQ(epoch.plus_seconds(kMost).seconds(), kMost);
  EXPECT_EQ((last + Duration::max()).seconds(), kMost);
  EXPECT_EQ((first + Duration::min()).seconds(), first.seconds());
  EXPECT_EQ(last - first, Timestamp::kFarthest);
  EXPECT_EQ(first - last, -Timestamp::kFarthest);
  EXPECT_GT(Duration::max() - (last - first), Timestamp::kFarthest);
  EXPECT_EQ(seconds_between(first, last), 9'223'372'036);
  EXPECT_EQ(seconds_between(last, first), -9'223'372'036);
  Timestamp time;
  EXPECT_TRUE(parse_rfc3339(format_rfc3339(last), time));
  EXPECT_TRUE(parse_rfc3339(format_rfc3339(first), time));
  EXPECT_FALSE(parse_rfc3339(std::string(1000, '9') + "-01-01T00:00:00Z", time));
}

TEST(TimestampTest, AClockTimeIsTheSameInstant) {
  const WallTime wall{std::chrono::seconds(-5) + std::chrono::nanoseconds(7)};
  EXPECT_EQ(Timestamp(wall), Timestamp::at(-5, 7));
  EXPECT_EQ(Timestamp(WallTime{std::chrono::nanoseconds(-1)}), Timestamp::at(-1, 999'999'999));
  EXPECT_EQ(wall - Timestamp::at(-6), std::chrono::seconds(1) + std::chrono::nanoseconds(7));
  EXPECT_EQ(Timestamp::at(3, 600'000'000) + std::chrono::milliseconds(500), Timestamp::at(4, 100'000'000));
  EXPECT_EQ(Timestamp::at(3) + std::chrono::milliseconds(-500), Timestamp::at(2, 500'000'000));
  EXPECT_TRUE(wall < parsed("9999-12-31T23:59:59Z"));
  EXPECT_TRUE(parsed("0001-01-01T00:00:00Z") < wall);
  EXPECT_EQ(seconds_between(Timestamp::at(0, 500'000'000), Timestamp::at(3)), 2);
  EXPECT_EQ(seconds_between(Timestamp::at(3), Timestamp::at(0, 500'000'000)), -2);
}

TEST(TimestampTest, TheFormsOfRfc3339) {
  EXPECT_EQ(format_rfc3339_micro(parsed("2026-02-28T23:59:60.5+02:00")), "2026-02-28T22:00:00.500000Z");
  EXPECT_EQ(parsed("1937-01-01t12:00:27.87z"), Timestamp::at(-1'041'335'973, 870'000'000));
  EXPECT_EQ(format_rfc3339(parsed("9999-12-31T23:59:59-01:00")), "10000-01-01T00:59:59Z");
  EXPECT_EQ(format_rfc3339(parsed("0000-01-01T00:00:00+01:00")), "-0001-12-31T23:00:00Z");
  Timestamp time;
  for (const char* bad :
       {"", "2026-11-21", "2026-11-21T10:00:00", "2026-11-21T24:00:00Z", "2026-11-21T10:60:00Z", "2026-11-21T10:00:61Z",
        "2026-11-21T10:00:00.Z", "2026-11-21T10:00:00Zx", "2026-11-21T10:00:00+0100", "2026-11-21 10:00:00Z",
        "026-11-21T10:00:00Z", "02026-11-21T10:00:00Z", "+2026-11-21T10:00:00Z", "2026-1-21T10:00:00Z"})
    EXPECT_FALSE(parse_rfc3339(bad, time)) << bad;
}

}  // namespace dra::timestamp_test
