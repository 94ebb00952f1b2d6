// Deadlines over the whole range of RFC 3339, against a calendar that counts days one by one.
#include "controllers/tainteviction/tainteviction_fixture.h"
#include "controllers/tainteviction/verdict.h"
#include "pkg/base/random.h"

namespace dra::tainteviction::times_test {

using namespace std::chrono_literals;

using Fixture = TaintEviction;

bool is_leap(int year) {
  return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

int length_of(int month, int year) {
  if (month == 2) return is_leap(year) ? 29 : 28;
  return month == 4 || month == 6 || month == 9 || month == 11 ? 30 : 31;
}

// Seconds since 1970 at the beginning of the day.
int64_t seconds_of(int year, int month, int day) {
  int64_t days = day - 1;
  for (int one = 1; one < month; ++one) days += length_of(one, year);
  for (int one = 1970; one < year; ++one) days += is_leap(one) ? 366 : 365;
  for (int one = year; one < 1970; ++one) days -= is_leap(one) ? 366 : 365;
  return days * 86'400;
}

TEST(EvictionTimes, AddTolerationsInEveryYear) {
  SeededRandom random(41);
  const auto between = [&](int64_t least, int64_t most) {
    return least + static_cast<int64_t>(random.below(static_cast<uint64_t>(most - least) + 1));
  };
  const int64_t last = seconds_of(9999, 12, 31) + 86'399;
  for (int i = 0; i < 20'000; ++i) {
    const int year = static_cast<int>(between(0, 9999)), month = static_cast<int>(between(1, 12));
    const int day = static_cast<int>(between(1, length_of(month, year))), second = static_cast<int>(between(0, 86'399));
    char text[64];
    std::snprintf(text, sizeof text, "%04d-%02d-%02dT%02d:%02d:%02dZ", year, month, day, second / 3600,
                  second / 60 % 60, second % 60);
    const int64_t added = seconds_of(year, month, day) + second;
    const api::DeviceTaint taint{"broken", "yes", "NoExecute", text};
    api::DeviceRequestAllocationResult result;
    EXPECT_EQ(eviction_time(taint, result, WallTime{}), Timestamp::at(added)) << text;
    const int64_t tolerated = between(0, int64_t{1} << between(0, 62));
    result.tolerations = {tolerate(tolerated)};
    const auto due = eviction_time(taint, result, WallTime{});
    if (static_cast<__int128>(added) + tolerated <= last)
      EXPECT_EQ(due, Timestamp::at(added + tolerated)) << text << " + " << tolerated;
    else
      EXPECT_FALSE(due) << text << " + " << tolerated;
  }
}

TEST_F(Fixture, ATaintOfTheYear9999EvictsThenAndNotNow) {
  api::DeviceTaint far = taint(now);
  far.time_added = "9999-12-31T23:59:59Z";
  cluster.put(slice({far}));
  cluster.put(claim({tolerate(3600)}));
  cluster.put(pod());
  EXPECT_EQ(cluster.settle(), "") << "an hour after the last time there is";
  EXPECT_EQ(cluster.advance(1000h), "");
  cluster.put(claim());
  EXPECT_EQ(cluster.settle(), kAnnounced);
  EXPECT_NE(cluster.notes.back().find("Will be deleted at 9999-12-31T23:59:59Z"), std::string::npos);
  EXPECT_EQ(cluster.advance(1000h), "");
}

TEST_F(Fixture, ATaintOfLongAgoEvictsAtOnce) {
  for (const char* long_ago : {"0000-01-01T00:00:00Z", "0001-01-01T00:00:01Z", "1600-02-29T12:00:00Z"}) {
    Cluster one;
    api::DeviceTaint old = taint(now);
    old.time_added = long_ago;
    one.put(slice({old}));
    one.put(claim({tolerate(3600)}));
    one.put(pod());
    EXPECT_EQ(one.settle(), kEvicted) << long_ago;
  }
}

}  // namespace dra::tainteviction::times_test
