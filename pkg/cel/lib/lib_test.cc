// number.h, time.h, regex.h, named_format.h
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <string>

#include "pkg/base/random.h"
#include "pkg/cel/lib/named_format.h"
#include "pkg/cel/lib/number.h"
#include "pkg/cel/lib/regex.h"
#include "pkg/cel/lib/time.h"
#include "pkg/cel/lib/time_zone.h"

namespace dra::cel::lib::lib_test {

TEST(Number, FormatsDoublesAsGo) {
  const std::pair<double, const char*> cases[] = {{999999.5, "999999.5"},
                                                  {1e6, "1e+06"},
                                                  {1234567.5, "1.2345675e+06"},
                                                  {0.0001, "0.0001"},
                                                  {0.0000123, "1.23e-05"},
                                                  {-0.0, "-0"},
                                                  {0, "0"},
                                                  {100, "100"},
                                                  {1e100, "1e+100"},
                                                  {56.8, "56.8"},
                                                  {5e-324, "5e-324"}};
  for (const auto& [value, text] : cases) EXPECT_EQ(format_double(value), text);
  EXPECT_EQ(format_double(std::nan("")), "NaN");
  EXPECT_EQ(format_double(-HUGE_VAL), "-Inf");
  EXPECT_EQ(format_fixed(2.5, 0), "2");
  EXPECT_EQ(format_fixed(1.2345, 3), "1.234");
  EXPECT_EQ(format_fixed(1, 1200), "1." + std::string(1200, '0'));
}

TEST(Number, ParsesAsGo) {
  EXPECT_EQ(parse_double("0x1p4"), 16.0);
  EXPECT_EQ(parse_double("0x.8p1"), 1.0);
  EXPECT_EQ(parse_double("1_0.5"), 10.5);
  EXPECT_EQ(parse_double("1e-400"), 0.0);
  EXPECT_EQ(parse_double(".5e1"), 5.0);
  EXPECT_EQ(parse_double("-InFinity"), -HUGE_VAL);
  EXPECT_TRUE(std::isnan(*parse_double("nAn")));
  EXPECT_EQ(parse_double("1" + std::string(400, '0') + "e-400"), 1.0);
  EXPECT_EQ(parse_double("0." + std::string(400, '0') + "1e401"), 1.0);
  for (const char* bad :
       {"", "1e999", "1__0", "_1", "1_", "0x1", "1e", "+-1", "1.2.3", ".", "-nan", " 1", "1 ", "0x", "e5"})
    EXPECT_FALSE(parse_double(bad)) << bad;
  EXPECT_EQ(parse_int("+5"), 5);
  EXPECT_EQ(parse_int("-9223372036854775808"), INT64_MIN);
  for (const char* bad : {"", "+", "+-5", "5 ", "0x10", "1_0", "9223372036854775808"})
    EXPECT_FALSE(parse_int(bad)) << bad;
  EXPECT_EQ(parse_uint("18446744073709551615"), UINT64_MAX);
  for (const char* bad : {"", "+5", "-5", "-0"}) EXPECT_FALSE(parse_uint(bad)) << bad;
  EXPECT_FALSE(double_to_int(9223372036854775808.0));
  EXPECT_FALSE(double_to_int(-9223372036854775808.0));
  EXPECT_FALSE(double_to_int(std::nan("")));
  EXPECT_EQ(double_to_int(-1.9), -1);
  EXPECT_FALSE(double_to_uint(-0.5));
  EXPECT_FALSE(double_to_uint(18446744073709551616.0));
}

TEST(Number, WhatIsFormattedReadsBack) {
  SeededRandom random(11);
  for (int i = 0; i < 20000; ++i) {
    const uint64_t bits = random.next();
    double value = 0;
    std::memcpy(&value, &bits, sizeof value);
    if (!std::isfinite(value)) continue;
    ASSERT_EQ(parse_double(format_double(value)), value) << format_double(value);
  }
}

TEST(Time, Durations) {
  EXPECT_EQ(*parse_duration("1h1h"), int64_t{7200} * 1'000'000'000);
  EXPECT_EQ(*parse_duration("-1.5s"), -1'500'000'000);
  EXPECT_EQ(*parse_duration(".5s"), 500'000'000);
  EXPECT_EQ(*parse_duration("1.s"), 1'000'000'000);
  EXPECT_EQ(*parse_duration("1\xC2\xB5s2\xCE\xBCs3us"), 6'000);
  EXPECT_EQ(*parse_duration("0"), 0);
  EXPECT_EQ(*parse_duration("-9223372036854775808ns"), INT64_MIN);
  for (const char* bad :
       {"", "x", "1", "1d", " 1s", "1s ", ".s", "-", "9223372036854775808ns", "10000000000h", "1h-1m"})
    EXPECT_FALSE(parse_duration(bad)) << bad;
  EXPECT_EQ(format_duration(90'000'000'000), "90s");
  EXPECT_EQ(format_duration(100'000'000), "0.1s");
  EXPECT_EQ(format_duration(1), "0.000000001s");
  EXPECT_EQ(format_duration(10'000'000 * int64_t{1'000'000'000}), "10000000s");
  EXPECT_EQ(duration_field(-5400 * int64_t{1'000'000'000}, TimeField::kHours), -1);
}

TEST(Time, Timestamps) {
  const std::pair<const char*, const char*> good[] = {
      {"2024-02-29T12:34:56.789Z", "2024-02-29T12:34:56.789Z"},
      {"2024-02-29T1:34:56Z", "2024-02-29T01:34:56Z"},
      {"2024-02-29T01:34:56,5+05:30", "2024-02-29T01:34:56.5+05:30"},
      {"0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z"},
      {"9999-12-31T23:59:59.9999999999Z", "9999-12-31T23:59:59.999999999Z"},
      {"2023-02-03T23:31:20+00:00", "2023-02-03T23:31:20Z"},
      {"2023-02-03T23:31:20-24:00", "2023-02-03T23:31:20-24:00"}};
  for (const auto& [in, out] : good) {
    const auto t = parse_timestamp(in);
    ASSERT_TRUE(t) << in;
    EXPECT_EQ(format_timestamp(*t), out);
  }
  for (const char* bad :
       {"", "2024-02-30T00:00:00Z", "2023-02-29T00:00:00Z", "2024-01-01T24:00:00Z", "2024-01-01T00:00:60Z",
        "2024-01-01t00:00:00Z", "2024-01-01T00:00:00z", "2024-01-01T00:00:00", "2024-01-01T00:00:00+25:00",
        "2024-01-01T00:00:00Z ", "2024-13-01T00:00:00Z", "2024-1-01T00:00:00Z", "0000-01-01T00:00:00Z"})
    EXPECT_FALSE(parse_timestamp(bad)) << bad;
  EXPECT_EQ(parse_timestamp("0000-01-01T00:00:00Z").error().category, RuntimeCategory::kOverflow);
}

TEST(Time, FieldsAndZones) {
  const Timestamp t = *parse_timestamp("2024-02-29T23:30:00.5Z");
  EXPECT_EQ(timestamp_field(t, TimeField::kFullYear), 2024);
  EXPECT_EQ(timestamp_field(t, TimeField::kMonth), 1);
  EXPECT_EQ(timestamp_field(t, TimeField::kDayOfMonth), 28);
  EXPECT_EQ(timestamp_field(t, TimeField::kDayOfYear), 59);
  EXPECT_EQ(timestamp_field(t, TimeField::kDayOfWeek), 4);
  EXPECT_EQ(timestamp_field(t, TimeField::kMilliseconds), 500);
  EXPECT_EQ(*timestamp_field(t, TimeField::kDate, "+02:00"), 1);
  EXPECT_EQ(*timestamp_field(t, TimeField::kHours, "-01:30"), 22);
  EXPECT_EQ(*timestamp_field(t, TimeField::kHours, "01:30"), 1);
  EXPECT_EQ(*timestamp_field(t, TimeField::kHours, ""), 23);
  EXPECT_EQ(timestamp_field(t, TimeField::kHours, "Nowhere/City").error().message, "unknown time zone Nowhere/City");
  EXPECT_FALSE(timestamp_field(t, TimeField::kHours, "../../etc/passwd"));
  EXPECT_EQ(timestamp_field(t, TimeField::kHours, "abc:de").error().message,
            "strconv.Atoi: parsing \"abc\": invalid syntax");
  for (const char* wild : {"+99999999999:00", "-9223372036854775808:1", ":", "1:", "+99:00"})
    (void)timestamp_field(t, TimeField::kFullYear, wild);
}

TEST(Time, IanaZones) {
  const auto hour = [](const char* text, const char* zone) {
    return timestamp_field(*parse_timestamp(text), TimeField::kHours, zone);
  };
  const auto summer = hour("2024-07-01T12:00:00Z", "America/New_York");
  if (!summer) GTEST_SKIP() << "no time zone database here";
  EXPECT_EQ(*summer, 8);
  EXPECT_EQ(*hour("2024-01-01T12:00:00Z", "America/New_York"), 7);
  EXPECT_EQ(*hour("2524-07-01T12:00:00Z", "America/New_York"), 8);  // by the rule behind the table
  EXPECT_EQ(*hour("1800-07-01T12:00:00Z", "Europe/Berlin"), 12);    // local mean time
  EXPECT_EQ(*hour("2024-01-01T12:00:00Z", "Australia/Sydney"), 23);
}

TEST(Time, ZonesChangeTheirOffsetBeyondTheirTable) {
  const auto offset = [](const char* zone, const char* time) {
    return *zone_offset(zone, parse_timestamp(time)->seconds);
  };
  EXPECT_EQ(offset("America/New_York", "2090-03-12T06:59:59Z"), -5 * 3600);
  EXPECT_EQ(offset("America/New_York", "2090-03-12T07:00:00Z"), -4 * 3600);
  EXPECT_EQ(offset("America/New_York", "2090-11-05T05:59:59Z"), -4 * 3600);
  EXPECT_EQ(offset("America/New_York", "2090-11-05T06:00:00Z"), -5 * 3600);
  EXPECT_EQ(offset("Australia/Sydney", "2090-01-01T00:00:00Z"), 11 * 3600);
  EXPECT_EQ(offset("Australia/Sydney", "2090-07-01T00:00:00Z"), 10 * 3600);
}

// cctz would answer for the first three, and would keep every name that it does not know.
TEST(Time, OnlyFilesOfTheDatabaseAreZones) {
  for (const char* name : {"Fixed/UTC+05:00:00", "libc:localtime", "/usr/share/zoneinfo/UTC", "../zoneinfo/UTC",
                           "Europe", "Nowhere/At_all", "tzdata.zi"}) {
    const auto offset = zone_offset(name, 0);
    ASSERT_FALSE(offset) << name;
    EXPECT_EQ(offset.error().message, "unknown time zone " + std::string(name));
  }
}

TEST(Regex, GoDialect) {
  const auto all = [](const char* pattern, const char* text, int64_t n = -1) {
    return *(*Regex::compile(pattern))->find_all(text, n);
  };
  using Views = std::vector<std::string_view>;
  EXPECT_EQ(all("[0-9]*", "123 abc 456"), (Views{"123", "", "", "", "", "456"}));
  EXPECT_EQ(all("",
                "\xE2\x82\xAC"
                "a")
                .size(),
            3U);
  EXPECT_EQ(all("a*?", "aaa").size(), 4U);
  EXPECT_EQ(all("a*", "aaa"), Views{"aaa"});
  EXPECT_EQ(all("a", "aaa", 2).size(), 2U);
  EXPECT_EQ(all("a", "aaa", 0).size(), 0U);
  EXPECT_EQ(all("^a", "aaa").size(), 1U);
  EXPECT_EQ(all("\\ba", "aa a").size(), 2U);
  EXPECT_TRUE((*Regex::compile("(?<n>a)[(?<]\\Q(?<n>\\E"))->matches("a?(?<n>"));
  EXPECT_TRUE((*Regex::compile("(?P<n>a)"))->matches("xax"));
  EXPECT_EQ((*Regex::compile("b+"))->find("abba"), "bb");
  EXPECT_EQ((*Regex::compile("x"))->find("abba"), "");
  const std::pair<const char*, const char*> bad[] = {{"[", "error parsing regexp: missing closing ]: `[`"},
                                                     {"(", "error parsing regexp: missing closing ): `(`"},
                                                     {"a{2,1}", "error parsing regexp: invalid repeat count: `{2,1}`"}};
  for (const auto& [pattern, message] : bad) EXPECT_EQ(Regex::compile(pattern).error().message, message);
  for (const char* pattern :
       {"\\C", "(a{100}){11}", "a(?!b)", "(?<=a)b", "\\Z", "\\1", "a**", "[z-a]", "\\", "(?#c)a", "\xff"})
    EXPECT_FALSE(Regex::compile(pattern)) << pattern;
}

TEST(Regex, WorkIsBounded) {
  const std::string text(1 << 20, 'a');
  const auto regex = *Regex::compile("a*b|a");
  Budget budget{SIZE_MAX, 10'000'000};
  EXPECT_EQ(regex->find_all(text, -1, budget).error().category, RuntimeCategory::kSizeLimit);
  EXPECT_TRUE((*Regex::compile("(a|aa)+$"))->matches(text));
  EXPECT_FALSE((*Regex::compile("(a*)*b"))->matches(text));
}

TEST(Regex, WeightsAreAddedUpWithoutCompiling) {
  for (const char* little :
       {"", "abc", "a{x}", "a{1", "[a-z]+(b|c)*", ")))", "(((", "[", "\\", "\\p", "\\p{", "\\Q", "{3}"})
    EXPECT_LT(Regex::weight(little), 260U) << little;
  for (const char* great : {"(a{100}){100}", "\\pL{40}", "\\p{Greek}{40}", "[\\pL\\pN]{1,20}", "(?:.{10}){125}"})
    EXPECT_GE(Regex::weight(great), 10'000U) << great;
  std::string huge;
  for (int i = 0; i < 3000; ++i) huge += "(a{1000}";
  for (int i = 0; i < 3000; ++i) huge += "){1000}";
  EXPECT_GE(Regex::weight(huge), size_t{1} << 30);
  EXPECT_LT(Regex::reduced_weight("\\pL{40}"), 1000U);
  EXPECT_TRUE(Regex::compile(".{1,1000}"));
  EXPECT_FALSE(Regex::compile("(?:[a-z]{1,1000}){7}"));
}

TEST(RegexPool, CompilesOnceAndStopsAtTheLimit) {
  RegexPool pool;
  const auto first = pool.compile("[ab]{1,1000}");
  ASSERT_TRUE(first);
  EXPECT_EQ(*pool.compile("[ab]{1,1000}"), *first);
  EXPECT_TRUE(pool.compile("[cd]{1,1000}"));
  EXPECT_FALSE(pool.compile("("));
  EXPECT_FALSE(pool.exhausted());
  for (int i = 0; i < 4; ++i) (void)pool.compile("[ab]{1," + std::to_string(900 + i) + "}");
  EXPECT_FALSE(pool.compile("[ab]{1,999}"));
  EXPECT_TRUE(pool.exhausted());
}

bool valid(const char* name, const std::string& text) {
  return find_named_format(name)->validate(text).empty();
}

TEST(NamedFormat, Rules) {
  EXPECT_EQ(find_named_format("nope"), nullptr);
  EXPECT_TRUE(valid("dns1123Label", "a-1"));
  EXPECT_FALSE(valid("dns1123Label", std::string(64, 'a')));
  EXPECT_EQ(find_named_format("dns1123Label")->validate("a.b"), std::vector<std::string>{"must not contain dots"});
  EXPECT_TRUE(valid("dns1123LabelPrefix", "abc-"));
  EXPECT_FALSE(valid("dns1123LabelPrefix", "-"));
  EXPECT_TRUE(valid("dns1035LabelPrefix", "1-"));
  EXPECT_TRUE(valid("dns1123SubdomainPrefix", "abc.-"));
  EXPECT_FALSE(valid("dns1035Label", "1abc"));
  EXPECT_TRUE(valid("qualifiedName", "example.com/name"));
  EXPECT_FALSE(valid("qualifiedName", "a/b/c"));
  EXPECT_FALSE(valid("qualifiedName", "/b"));
  EXPECT_TRUE(valid("labelValue", ""));
  EXPECT_FALSE(valid("labelValue", "a b"));
  EXPECT_TRUE(valid("uuid", "123E4567e89b12d3a456426614174000"));
  EXPECT_TRUE(valid("uuid", "123e4567-e89b-12d3-a456-426614174000"));
  EXPECT_FALSE(valid("uuid", "-123e4567e89b12d3a456426614174000"));
  EXPECT_FALSE(valid("byte", ""));
  EXPECT_TRUE(valid("byte", "aGk="));
  EXPECT_FALSE(valid("byte", "a==="));
  EXPECT_TRUE(valid("date", "2024-02-29"));
  EXPECT_FALSE(valid("date", "2024-02-30"));
  EXPECT_TRUE(valid("datetime", "2024-02-29T00:00:00Z"));
  EXPECT_TRUE(valid("datetime", "2024-01-01t00:00:00x5z"));
  EXPECT_TRUE(valid("datetime", "2024-01-01T00:00:00+99:99"));
  EXPECT_FALSE(valid("datetime", "2024-01-01T24:00:00Z"));
  EXPECT_FALSE(valid("datetime", "2024-01-01T00:00:00"));
  EXPECT_TRUE(valid("uri", "http://h/"));
}

}  // namespace dra::cel::lib::lib_test
