// Expressions that are cheap by upstream's own reckoning and take it seconds, gigabytes or forever. Here each is
// refused, stopped, or done in 10 ms (allowing for unoptimised and instrumented builds).
#include <gtest/gtest.h>

#include <ctime>
#include <string>

#include "pkg/cel/cel.h"

namespace dra::cel::dos_test {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__OPTIMIZE__)
constexpr int kSlowdown = 30;
#else
constexpr int kSlowdown = 1;
#endif

std::string repeated(const std::string& text, int count) {
  std::string out;
  for (int i = 0; i < count; ++i) out += text;
  return out;
}

DeviceInput hostile_device() {
  DeviceInputBuilder builder("d");
  builder.add_string("text", repeated("a", 64)).add_capacity_text("huge", "1e2147483647");
  builder.add_capacity_text("tiny", "1e-2147483647");
  return builder.build();
}

// Time of this thread on a processor: waiting for one on a busy machine does not count.
double cpu_millis() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

// Compiles and, if the API server would accept the selector, evaluates it.
EvalResult expect_quick(const std::string& expression) {
  static const Environment env;
  const std::string shown = expression.substr(0, 100);
  const double start = cpu_millis();
  EvalResult result;
  const CompileResult compiled = compile(expression, env);
  if (compiled.ok()) result = compiled.program->evaluate(hostile_device());
  EXPECT_LT(cpu_millis() - start, 10.0 * kSlowdown) << shown << ": " << result.message;
  return result;
}

TEST(Dos, LoopsAreNotQuadraticInTime) {
  expect_quick("lists.range(100000).all(x, x >= 0)");
  expect_quick("lists.range(100000).exists(x, x < 0)");
  expect_quick("lists.range(60000).map(x, x).size() == 60000");
  expect_quick("lists.range(60000).filter(x, x > 0).size() == 59999");
  expect_quick("lists.range(20000).transformMap(i, v, v).size() == 20000");
  expect_quick("lists.range(900).all(x, lists.range(900).exists(y, y == x))");
}

TEST(Dos, HugeExponents) {
  EXPECT_TRUE(expect_quick("quantity(\"1e30000000\").isGreaterThan(quantity(\"1\"))").value);
  EXPECT_TRUE(expect_quick("quantity(\"1e-999999999\").isGreaterThan(quantity(\"0\"))").value);
  EXPECT_TRUE(expect_quick("device.capacity[\"d\"].huge.compareTo(device.capacity[\"d\"].tiny) > 0").value);
  EXPECT_FALSE(expect_quick("device.capacity[\"d\"].huge.add(1).isGreaterThan(quantity(\"1\"))").ok());
  expect_quick("lists.range(10000).all(x, device.capacity[\"d\"].huge.isGreaterThan(quantity(\"1e2000000000\")))");
  expect_quick("quantity(\"" + repeated("9", 10000) + "\").asApproximateFloat() > 1.0");
  expect_quick("quantity(\"0." + repeated("0", 9000) + "1\").sub(quantity(\"" + repeated("9", 900) + "\")).sign() < 0");
}

TEST(Dos, GrowingTexts) {
  const std::string hundred = "\"" + repeated("a", 100) + "\"";
  EXPECT_FALSE(expect_quick(hundred + ".replace(\"a\", " + hundred + ").replace(\"a\", " + hundred +
                            ").replace(\"a\", " + hundred + ").size() > 0")
                   .ok());
  const std::string two_thousand = "\"" + repeated("a", 2000) + "\"";
  EXPECT_FALSE(expect_quick(two_thousand + ".replace(\"a\", " + two_thousand + ").replace(\"a\", " + two_thousand +
                            ").size() > 0")
                   .ok());
  expect_quick(hundred + ".replace(\"\", " + hundred + ").replace(\"\", " + hundred + ").size() > 0");
  expect_quick("\"%.2000000000f\".format([1.0]) == \"\"");
  expect_quick("\"%s%s%s%s\".format([" + hundred + ", 1, 2, 3]).size() > 0");
  expect_quick("[1,2,3,4,5,6,7,8,9].map(a, \"%.999999f\".format([1.0])).size() > 0");
  expect_quick("lists.range(100).map(x, device.attributes[\"d\"].text).join(\",\").split(\"\").size() > 0");
}

TEST(Dos, Searches) {
  const std::string text = "\"" + repeated("a", 4000) + "\"";
  const std::string needle = "\"" + repeated("a", 2000) + "b\"";
  expect_quick("!" + text + ".contains(" + needle + ")");
  expect_quick(text + ".indexOf(" + needle + ") == -1");
  expect_quick(text + ".lastIndexOf(\"b" + repeated("a", 2000) + "\") == -1");
  expect_quick(text + ".matches(\"(a*)*(a*)*(a*)*b\")");
  expect_quick(text + ".matches(\"" + repeated("a?", 100) + repeated("a", 100) + "$\")");
  expect_quick("\"" + repeated("a", 2000) + "\".findAll(\"a*b|a\").size() > 0");
}

std::string chained(const std::string& term, size_t bytes) {
  std::string out = "true";
  while (out.size() + term.size() + 4 < bytes) out += " && " + term;
  return out;
}

TEST(Dos, PatternsThatAreLargeWhenCompiled) {
  static const Environment env;
  for (const char* pattern :
       {".{1,1000}", "(.{1,999})", "[a-z]{1,1000}", "x{1000}", "(x{10}){100}", "\\\\pL{1000}", "(?i)\\\\pL{1,500}",
        "[\\\\pL\\\\pN]{1,63}", "\\\\pL\\\\pN\\\\pS\\\\pL\\\\pN\\\\pS\\\\pL\\\\pN\\\\pS[", "((x{9}){9}){9}", "a|b|c"}) {
    for (const char* function : {"matches", "find"}) {
      const std::string equal = std::string("\"aa\".") + function + "(\"" + pattern;
      const std::string end = function == std::string("find") ? "\") == \"\"" : "\")";
      expect_quick(equal + end);
      expect_quick(chained(equal + end, kMaxExpressionBytes));
      std::string different = "true";
      for (int i = 0; different.size() < kMaxExpressionBytes - 60; ++i)
        different += " && " + equal + std::to_string(i) + end;
      expect_quick(different);
    }
    expect_quick("\"a\".matches(\"" + repeated(pattern, 9000 / static_cast<int>(std::string(pattern).size())) + "\")");
    expect_quick(std::string("lists.range(1000).all(i, \"aa\".find(\"") + pattern + "\" + string(i)) == \"\")");
  }
  EXPECT_TRUE(compile("\"a\".matches(\".{1,1000}\")", env).ok());
  const std::string typical = "device.driver.matches(\"^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$\")";
  EXPECT_TRUE(compile(chained(typical, kMaxExpressionBytes), env).ok());
  const CompileResult refused = compile(
      "\"a\".matches(\".{1,1000}a\") && \"a\".matches(\".{1,1000}b\") && "
      "\"a\".matches(\".{1,1000}c\")",
      env);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error->category, CompileCategory::kLiteralValidator);
  EXPECT_NE(refused.error->message.find("too many or too large regular expressions"), std::string::npos);
}

TEST(Dos, DeepNesting) {
  for (const int depth : {100, 240, 249, 250, 251, 1000, 5000}) {
    expect_quick(repeated("(", depth) + "true" + repeated(")", depth));
    expect_quick(repeated("[", depth) + repeated("]", depth) + " == []");
    expect_quick(repeated("!", depth) + "true");
    expect_quick(repeated("-", depth) + "1 == 1");
    expect_quick("1" + repeated("+1", depth) + " > 0");
    expect_quick("true" + repeated(" && true", depth / 2));
    expect_quick("true" + repeated(" ? true : false", depth / 8));
    expect_quick("\"a\"" + repeated(".trim()", depth / 4) + " == \"a\"");
    expect_quick(repeated("{\"a\":", depth) + "1" + repeated("}", depth) + " == {}");
    expect_quick("dyn({})" + repeated(".a", depth) + " == 1");
    expect_quick("dyn([])" + repeated("[0]", depth) + " == 1");
  }
}

TEST(Dos, CompilersThatCrash) {
  static const Environment env;
  for (const char* expression :
       {"[?device.attributes[\"d\"].x].size() == 1", "{b\"a\": 1}.size() == 1", "{?\"k\": dyn(1)}.size() == 1"}) {
    const CompileResult compiled = compile(expression, env);
    EXPECT_FALSE(compiled.ok() && compiled.program->evaluate(hostile_device()).ok()) << expression;
  }
}

TEST(Dos, ListFunctions) {
  expect_quick("lists.range(1000).map(x, x % 7).distinct().size() == 7");
  expect_quick("lists.range(600).distinct().size() == 600");
  expect_quick("lists.range(600).reverse().sort()[0] == 0");
  expect_quick("lists.range(1000000000).size() > 0");
  expect_quick("lists.range(9223372036854775807).size() > 0");
  expect_quick("sets.contains(lists.range(900), lists.range(900))");
  expect_quick("lists.range(100000).includes(99999)");
  expect_quick("lists.range(30000).indexOf(29999) == 29999");
}

}  // namespace dra::cel::dos_test
