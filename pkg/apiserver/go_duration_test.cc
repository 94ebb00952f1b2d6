#include "pkg/apiserver/go_duration.h"

#include <gtest/gtest.h>

namespace dra::apiserver::go_duration_test {

TEST(GoDuration, ReadsWhatGoReads) {
  using namespace std::chrono_literals;
  EXPECT_EQ(parse_go_duration("1m30s").value(), Duration(90s));
  EXPECT_EQ(parse_go_duration("-1.5s").value(), Duration(-1500ms));
  EXPECT_EQ(parse_go_duration("0").value(), Duration(0));
  EXPECT_EQ(parse_go_duration("1000000h").value(), Duration(24h));
}

TEST(GoDuration, RefusesInGosWords) {
  const auto error = [](const char* text) { return parse_go_duration(text).error().message(); };
  EXPECT_EQ(error("abc"), R"(time: invalid duration "abc")");
  EXPECT_EQ(error("1"), R"(time: missing unit in duration "1")");
  EXPECT_EQ(error("1x"), R"(time: unknown unit "x" in duration "1x")");
  EXPECT_EQ(error("-"), R"(time: invalid duration "-")");
  EXPECT_EQ(error("1..5s"), R"(time: invalid duration "1..5s")");
}

}  // namespace dra::apiserver::go_duration_test
