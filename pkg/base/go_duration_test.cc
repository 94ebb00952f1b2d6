#include "pkg/base/go_duration.h"

#include <gtest/gtest.h>

namespace dra::go_duration_test {

TEST(GoDuration, ReadsWhatGoReads) {
  using namespace std::chrono_literals;
  EXPECT_EQ(parse_go_duration("1m30s").value(), Duration(90s));
  EXPECT_EQ(parse_go_duration("-1.5s").value(), Duration(-1500ms));
  EXPECT_EQ(parse_go_duration("0").value(), Duration(0));
  EXPECT_EQ(parse_go_duration("1000000h").value(), Duration(1'000'000h));
  EXPECT_EQ(parse_go_duration("1.s").value(), Duration(1s));
  EXPECT_EQ(parse_go_duration("1h1h").value(), Duration(2h));
  EXPECT_EQ(parse_go_duration("-9223372036854775808ns").value(), Duration(INT64_MIN));
}

TEST(GoDuration, RefusesInGosWords) {
  const auto error = [](const char* text) { return parse_go_duration(text).error().message(); };
  EXPECT_EQ(error("abc"), R"(time: invalid duration "abc")");
  EXPECT_EQ(error("1"), R"(time: missing unit in duration "1")");
  EXPECT_EQ(error("1x"), R"(time: unknown unit "x" in duration "1x")");
  EXPECT_EQ(error("-"), R"(time: invalid duration "-")");
  EXPECT_EQ(error("1..5s"), R"(time: missing unit in duration "1..5s")");
  EXPECT_EQ(error("9223372036854775808ns"), R"(time: invalid duration "9223372036854775808ns")");
  EXPECT_EQ(error("3000000h"), R"(time: invalid duration "3000000h")");
}

}  // namespace dra::go_duration_test
