#include <gtest/gtest.h>

#include "pkg/base/clock.h"
#include "pkg/base/error.h"
#include "pkg/base/random.h"
#include "pkg/base/strings.h"
#include "pkg/base/timestamp.h"
#include "pkg/base/utf8.h"

namespace dra::base_test {

TEST(ErrorTest, SaysWhatHappenedInOneLine) {
  const Error error(Code::kConflict, 409, "Conflict", "claim \"a\" changed");
  EXPECT_EQ(to_string(error), "Conflict (HTTP 409): claim \"a\" changed");
  EXPECT_EQ(error.wrap("ns/pod").message(), "ns/pod: claim \"a\" changed");
  EXPECT_TRUE(Error(Code::kDeadlineExceeded, "t").outcome_unknown());
  EXPECT_FALSE(Error(Code::kUnavailable, 503, "", "t").outcome_unknown());
}

TEST(ClockTest, PrintsWallTimesUpToTheEndsOfTheirRange) {
  using std::chrono::nanoseconds;
  EXPECT_EQ(format_rfc3339(WallTime{}), "1970-01-01T00:00:00Z");
  EXPECT_EQ(format_rfc3339_micro(WallTime{nanoseconds{-1}}), "1969-12-31T23:59:59.999999Z");
  EXPECT_EQ(format_rfc3339_micro(WallTime{nanoseconds::max()}), "2262-04-11T23:47:16.854775Z");
  EXPECT_EQ(format_rfc3339_micro(WallTime{nanoseconds::min()}), "1677-09-21T00:12:43.145224Z");
}

TEST(RandomTest, RepeatsFromItsSeed) {
  SeededRandom a(7), b(7), c(8);
  EXPECT_EQ(a.uuid(), b.uuid());
  EXPECT_NE(a.uuid(), c.uuid());
  EXPECT_EQ(a.uuid()[14], '4');
  for (int i = 0; i < 1000; ++i) EXPECT_LT(a.below(3), 3U);
}

TEST(StringsTest, Base64RoundTripsEveryLength) {
  SeededRandom random(1);
  for (int length = 0; length < 50; ++length) {
    std::string bytes;
    for (int i = 0; i < length; ++i) bytes += static_cast<char>(random.next());
    std::string back;
    ASSERT_TRUE(base64_decode(base64_encode(bytes), back));
    EXPECT_EQ(back, bytes);
  }
  std::string out;
  EXPECT_FALSE(base64_decode("abc", out));
  for (const char* bad : {"ab=c", "ab-=", "YWJj----", "====", "YW==YWJj", "YW*j", "YQ="})
    EXPECT_FALSE(base64_decode(bad, out)) << bad;
  ASSERT_TRUE(base64_decode("YW\n Jj\tYQ==\n", out));
  EXPECT_EQ(out, "abca");
  ASSERT_TRUE(base64_decode(" ", out));
  EXPECT_EQ(out, "");
}

TEST(StringsTest, JoinSomeSaysHowManyAreLeft) {
  EXPECT_EQ(join_some({}, 3), "");
  EXPECT_EQ(join_some({"a"}, 3), "a");
  EXPECT_EQ(join_some({"a", "b", "c"}, 3), "a, b, c");
  EXPECT_EQ(join_some({"a", "b", "c", "d", "e"}, 3), "a, b, c and 2 more");
}

TEST(StringsTest, SplitJoinQuote) {
  EXPECT_EQ(join(split("a,,b", ','), "|"), "a||b");
  EXPECT_EQ(trim(" \n x y\t"), "x y");
  EXPECT_EQ(quote("a\"b\n"), "\"a\\\"b\\n\"");
}

TEST(Utf8, BytesThatAreNoCharacterAreReplacedOneByOne) {
  EXPECT_EQ(valid_utf8("a\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80"), "a\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80");
  const std::string bad = "\xEF\xBF\xBD";
  EXPECT_EQ(valid_utf8("\xFF"
                       "a"),
            bad + "a");
  EXPECT_EQ(valid_utf8("\xC0\x80"), bad + bad) << "overlong";
  EXPECT_EQ(valid_utf8("\xED\xA0\x80"), bad + bad + bad) << "half of a surrogate pair";
  EXPECT_EQ(valid_utf8("\xF4\x90\x80\x80"), bad + bad + bad + bad) << "beyond the last code point";
  EXPECT_EQ(valid_utf8("\xE2\x82"), bad + bad) << "cut off";
}

TEST(Utf8, PrefixesDoNotCutCharacters) {
  const std::string text =
      "a\xE2\x82\xAC"
      "b";
  EXPECT_EQ(utf8_prefix(text, 0), "");
  EXPECT_EQ(utf8_prefix(text, 1), "a");
  EXPECT_EQ(utf8_prefix(text, 2), "a");
  EXPECT_EQ(utf8_prefix(text, 3), "a");
  EXPECT_EQ(utf8_prefix(text, 4), "a\xE2\x82\xAC");
  EXPECT_EQ(utf8_prefix(text, 9), text);
}

}  // namespace dra::base_test
