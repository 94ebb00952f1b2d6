#include "pkg/api/semver.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace dra::api::semver_test {

TEST(Semver, StrictRules) {
  for (const char* text :
       {"0.0.0", "1.2.3", "1.2.3-rc.1", "1.2.3-0a.--.x+001.b", "18446744073709551615.0.0", "1.0.0+a-b"}) {
    auto v = Semver::parse(text);
    ASSERT_TRUE(v.has_value()) << text;
    EXPECT_EQ(v->to_string(), text);
  }
  const std::pair<const char*, const char*> bad[] = {
      {"", "Version string empty"},
      {"1", "No Major.Minor.Patch elements found"},
      {"1.2", "No Major.Minor.Patch elements found"},
      {"v1.2.3", "Invalid character(s) found in major number \"v1\""},
      {"01.2.3", "Major number must not contain leading zeroes \"01\""},
      {"1.02.3", "Minor number must not contain leading zeroes \"02\""},
      {"1.2.03", "Patch number must not contain leading zeroes \"03\""},
      {"1.2.3.4", "Invalid character(s) found in patch number \"3.4\""},
      {"1.x.3", "Invalid character(s) found in minor number \"x\""},
      {"1.2.3-", "Prerelease is empty"},
      {"1.2.3-a..b", "Prerelease is empty"},
      {"1.2.3-01", "Numeric PreRelease version must not contain leading zeroes \"01\""},
      {"1.2.3-a_b", "Invalid character(s) found in prerelease \"a_b\""},
      {"1.2.3+", "Build meta data is empty"},
      {"1.2.3+a b", "Invalid character(s) found in build meta data \"a b\""},
      {"..", "strconv.ParseUint: parsing \"\": invalid syntax"},
      {"18446744073709551616.0.0", "strconv.ParseUint: parsing \"18446744073709551616\": value out of range"},
  };
  for (const auto& [text, message] : bad) {
    auto v = Semver::parse(text);
    ASSERT_FALSE(v.has_value()) << text;
    EXPECT_EQ(v.error().message(), message) << text;
  }
}

TEST(Semver, Normalizing) {
  const std::pair<const char*, const char*> good[] = {{"v1.2", "1.2.0"},        {"v1", "1.0.0"},
                                                      {"01.002.0003", "1.2.3"}, {"00.0.0", "0.0.0"},
                                                      {"1.2.3", "1.2.3"},       {"1.2.03-rc.1", "1.2.3-rc.1"},
                                                      {"1.2.-rc", "1.2.0-rc"}};
  for (const auto& [text, expected] : good) {
    auto v = Semver::parse_normalized(text);
    ASSERT_TRUE(v.has_value()) << text;
    EXPECT_EQ(v->to_string(), expected) << text;
  }
  for (const char* text : {"", "vv1", "1.0-rc.1", " 1.2.3", "1.2.3.4", "a.b.c"})
    EXPECT_FALSE(Semver::parse_normalized(text)) << text;
  EXPECT_EQ(Semver::parse_normalized("1.0-rc").error().message(),
            "short version cannot contain PreRelease/Build meta data");
}

TEST(Semver, PrecedenceIsATotalOrder) {
  const std::vector<std::string> ascending = {
      "0.9.9",      "1.0.0-0",      "1.0.0-9",       "1.0.0-10",   "1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.beta",
      "1.0.0-beta", "1.0.0-beta.2", "1.0.0-beta.11", "1.0.0-rc.1", "1.0.0",       "1.0.1",         "1.1.0",
      "2.0.0",      "10.0.0"};
  for (size_t i = 0; i < ascending.size(); ++i) {
    for (size_t j = 0; j < ascending.size(); ++j) {
      const int order = Semver::parse(ascending[i])->compare(*Semver::parse(ascending[j]));
      EXPECT_EQ(order < 0 ? -1 : order > 0, i < j ? -1 : i > j) << ascending[i] << " " << ascending[j];
    }
  }
  EXPECT_EQ(*Semver::parse("1.0.0+a"), *Semver::parse("1.0.0+b"));
  EXPECT_EQ(Semver::parse("1.0.0+a")->hash(), Semver::parse("1.0.0")->hash());
}

}  // namespace dra::api::semver_test
