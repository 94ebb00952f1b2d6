#include "cmd/flag_problem.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cmd/flag_values.h"

namespace dra::cmd::flag_problem_test {

// What a program with one flag of each kind says to `arguments`; empty when it takes them.
std::string refusal(const std::vector<std::string>& arguments) {
  CLI::App app("a program", "program");
  uint64_t count = 0;
  int number = 0;
  double share = 0;
  bool on = false, flag = false;
  std::string text, word;
  Duration time{};
  app.add_option("--count", count);
  app.add_option("-n,--number", number);
  app.add_option("--share", share);
  app.add_option("--on", on);
  app.add_flag("--flag", flag);
  CLI::Option* first = app.add_option("--text", text);
  first->needs(app.add_option("--word", word)->check(one_of({"a", "b"})));
  app.add_option("--only", text)->check(one_of({"this"}));
  app.add_option("--port", number)->check(port_from(0));
  app.add_option("--part", share)->check(in_range(0.5, 2.0));
  add_duration(app, "--time", time, {"", "1s", "1m"}, "");
  try {
    app.parse(for_parser(app, arguments));
    return text.empty() ? "" : "text=" + text;
  } catch (const CLI::ParseError& error) {
    return flag_problem(app, error, arguments);
  }
}

TEST(FlagProblem, NamesFlagValueAndWhatToWrite) {
  EXPECT_EQ(refusal({"--count=3", "--number", "-3", "--share=0.5", "--on=false", "--flag", "--port=80"}), "");
  EXPECT_EQ(refusal({"--count=many"}), "--count: \"many\" is not a whole number, or it is too large");
  EXPECT_EQ(refusal({"--number=99999999999"}), "--number: \"99999999999\" is not a whole number, or it is too large");
  EXPECT_EQ(refusal({"-n", "x"}), "--number: \"x\" is not a whole number, or it is too large");
  EXPECT_EQ(refusal({"--share=much"}), "--share: \"much\" is not a number");
  EXPECT_EQ(refusal({"--on=maybe"}), "--on: \"maybe\" is not true or false");
  EXPECT_EQ(refusal({"--flag=maybe"}), "--flag: \"maybe\" is not true or false");
  EXPECT_EQ(refusal({"--word=c"}), "--word: \"c\" is not one of a, b");
  EXPECT_EQ(refusal({"--only=that"}), "--only: \"that\" is not this");
  EXPECT_EQ(refusal({"--port=65536"}), "--port: \"65536\" is not a port (0 to 65535)");
  EXPECT_EQ(refusal({"--part=nan"}), "--part: \"nan\" is not a number from 0.500000 to 2");
  EXPECT_EQ(refusal({"--time=soon"}), "--time: \"soon\" is not a duration; write 15s, 500ms or 1m30s");
  EXPECT_EQ(refusal({"--time=2m"}), "--time: \"2m\" is out of range; use 1s to 1m");
}

// CLI11 alone would take the next argument for the value of "--name=", and "=1" for that of "-n=1".
TEST(FlagValues, AnEmptyValueIsAValueAndAShortNameMayHaveAnEqualsSign) {
  EXPECT_EQ(refusal({"--text=", "--word=a"}), "");
  EXPECT_EQ(refusal({"--text=", "--word", "b", "--number=1"}), "");
  EXPECT_EQ(refusal({"-n=1"}), "");
  EXPECT_EQ(refusal({"-n=x"}), "--number: \"x\" is not a whole number, or it is too large");
  EXPECT_EQ(refusal({"--number="}), "--number needs a value");
  EXPECT_EQ(refusal({"--share=", "--number=1"}), "--share needs a value");
  EXPECT_EQ(refusal({"--on="}), "--on needs a value");
  EXPECT_EQ(refusal({"--time="}), "--time: \"\" is not a duration; write 15s, 500ms or 1m30s");
}

TEST(FlagProblem, NamesWhatIsMissingTooOftenOrUnknown) {
  EXPECT_EQ(refusal({"--text=x"}), "--text needs --word, too");
  EXPECT_EQ(refusal({"--number"}), "--number needs a value");
  EXPECT_EQ(refusal({"--number=1", "--number=2"}), "--number is given 2 times; give it once");
  EXPECT_EQ(refusal({"--nubmer=1"}), "unknown flag --nubmer; did you mean --number?");
  EXPECT_EQ(refusal({"--elsewhere"}), "unknown flag --elsewhere");
  EXPECT_EQ(refusal({"--number=1", "word"}), "unexpected word \"word\"; everything here is a flag");
}

}  // namespace dra::cmd::flag_problem_test
