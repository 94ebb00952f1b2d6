// Expressions that are cheap by upstream's cost model but take it seconds, gigabytes or forever. Here each is
// refused, stopped, or done in 10 ms of an optimised build on a quiet machine: the line printed at the end gives
// the time of the slowest. The assertion leaves a margin for other machines: it catches only what is not bounded at
// all.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <ostream>
#include <string>

#include "pkg/cel/cel.h"
#include "test/support/cpu_millis.h"

namespace dra::cel::dos_test {

#if defined(DRA_SANITIZES_THREADS)
// ThreadSanitizer follows every byte that is copied: a chain of replacements took it 47 s, and 0.9 s at most with
// AddressSanitizer. Only the results are compared.
constexpr double kLimitMillis = 1e9;
constexpr int kAttempts = 1;
#elif defined(DRA_SANITIZES_ADDRESSES) || !defined(__OPTIMIZE__)
constexpr double kLimitMillis = 5'000;  // instrumented code on machines that are shared took up to 870 ms
constexpr int kAttempts = 5;
#else
constexpr double kLimitMillis = 200;
constexpr int kAttempts = 5;
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

using test::cpu_millis;

// The slowest expression, for the reader of the output.
struct Slowest {
  ~Slowest() { std::printf("slowest: %.1f ms: %s\n", millis, expression.c_str()); }
  double millis = 0;
  std::string expression;
};

void note_time(double millis, const std::string& expression) {
  static Slowest slowest;
  if (millis <= slowest.millis) return;
  slowest.millis = millis;
  slowest.expression = expression.substr(0, 100);
}

enum class End { kTrue, kFalse, kStopped, kRefused };  // kStopped: by an error or a limit; kRefused: does not compile

std::ostream& operator<<(std::ostream& out, End end) {
  static constexpr const char* kNames[] = {"true", "false", "stopped", "refused"};
  return out << kNames[static_cast<int>(end)];
}

struct Ended {
  End end = End::kRefused;
  std::string message;
};

Ended run(const std::string& expression) {
  static const Environment env;
  const CompileResult compiled = compile(expression, env);
  if (!compiled.ok()) return {End::kRefused, compiled.error->message};
  const EvalResult result = compiled.program->evaluate(hostile_device());
  if (!result.ok()) return {End::kStopped, result.message};
  return {result.value ? End::kTrue : End::kFalse, ""};
}

// Compiles the selector and evaluates it: it ends as expected, with a message that contains `why`, and soon. The best
// of a few attempts counts: even a thread's own time varies with what else the machine does. Returns the message.
std::string expect_end(const std::string& expression, End expected, const std::string& why) {
  Ended ended;
  double best = 1e9;
  for (int attempt = 0; attempt < kAttempts && (attempt == 0 || best > 5); ++attempt) {
    const double start = cpu_millis();
    ended = run(expression);
    best = std::min(best, cpu_millis() - start);
  }
  note_time(best, expression);
  const std::string shown = expression.substr(0, 100) + ": " + ended.message.substr(0, 300);
  if (best >= kLimitMillis) ADD_FAILURE() << best << " ms: " << shown;
  EXPECT_EQ(ended.end, expected) << shown;
  EXPECT_NE(ended.message.find(why), std::string::npos) << "not because of \"" << why << "\": " << shown;
  return ended.message;
}

void expect_true(const std::string& expression) {
  expect_end(expression, End::kTrue, "");
}
void expect_false(const std::string& expression) {
  expect_end(expression, End::kFalse, "");
}
std::string expect_stopped(const std::string& expression, const std::string& why) {
  return expect_end(expression, End::kStopped, why);
}
void expect_refused(const std::string& expression, const std::string& why) {
  expect_end(expression, End::kRefused, why);
}

// The bounds that stop what is cheap by upstream's cost model, and that cost itself.
constexpr const char* kWork = "takes more work than this evaluator allows";
constexpr const char* kCost = "actual cost limit exceeded";
constexpr const char* kLongText = "string would be longer than 1048576 bytes";
constexpr const char* kPieces = "a text falls into too many pieces";
constexpr const char* kGrows = "a value grows beyond the size this evaluator allows";

TEST(Dos, LoopsAreNotQuadraticInTime) {
  expect_true("lists.range(100000).all(x, x >= 0)");
  expect_false("lists.range(100000).exists(x, x < 0)");
  expect_true("lists.range(60000).map(x, x).size() == 60000");
  expect_true("lists.range(60000).filter(x, x > 0).size() == 59999");
  expect_true("lists.range(20000).transformMap(i, v, v).size() == 20000");
  expect_stopped("lists.range(900).all(x, lists.range(900).exists(y, y == x))", kCost);
}

TEST(Dos, HugeExponents) {
  expect_true("quantity(\"1e30000000\").isGreaterThan(quantity(\"1\"))");
  expect_true("quantity(\"1e-999999999\").isGreaterThan(quantity(\"0\"))");
  expect_true("device.capacity[\"d\"].huge.compareTo(device.capacity[\"d\"].tiny) > 0");
  expect_stopped("device.capacity[\"d\"].huge.add(1).isGreaterThan(quantity(\"1\"))", "has more than 2048 digits");
  expect_true("lists.range(10000).all(x, device.capacity[\"d\"].huge.isGreaterThan(quantity(\"1e2000000000\")))");
  expect_true("quantity(\"" + repeated("9", 10000) + "\").asApproximateFloat() > 1.0");
  expect_true("sign(quantity(\"0." + repeated("0", 9000) + "1\").sub(quantity(\"" + repeated("9", 900) + "\"))) < 0");
}

TEST(Dos, GrowingTexts) {
  const std::string hundred = "\"" + repeated("a", 100) + "\"";
  expect_stopped(hundred + ".replace(\"a\", " + hundred + ").replace(\"a\", " + hundred + ").replace(\"a\", " +
                     hundred + ").size() > 0",
                 kLongText);
  const std::string two_thousand = "\"" + repeated("a", 2000) + "\"";
  expect_stopped(two_thousand + ".replace(\"a\", " + two_thousand + ").replace(\"a\", " + two_thousand + ").size() > 0",
                 kLongText);
  expect_true(hundred + ".replace(\"\", " + hundred + ").replace(\"\", " + hundred + ").size() > 0");
  expect_stopped("\"%.2000000000f\".format([1.0]) == \"\"", "precision 2000000000 is too large");
  expect_true("\"%s%s%s%s\".format([" + hundred + ", 1, 2, 3]).size() > 0");
  expect_stopped("[1,2,3,4,5,6,7,8,9].map(a, \"%.999999f\".format([1.0])).size() > 0", kWork);
  expect_true("lists.range(100).map(x, device.attributes[\"d\"].text).join(\",\").split(\"\").size() > 0");
}

// `repeated(text, 64)` by its own means: 64 * 64 * 64 bytes for three literals.
std::string grown(const std::string& letter, int levels, int times) {
  std::string out = "\"" + letter + "\"";
  for (int i = 0; i < levels; ++i) out += ".replace(\"" + letter + "\", \"" + repeated(letter, times) + "\")";
  return out;
}

TEST(Dos, ChainsOfReplacements) {
  // Found by the fuzz target: 223 bytes that took seconds.
  expect_stopped(grown("a", 6, 20) + ".size() > 2", kLongText);
  expect_stopped(grown("ab", 6, 15) + ".size() > 2", kLongText);
  expect_stopped(grown("a", 5, 15) + repeated(".replace(\"a\", \"b\").replace(\"b\", \"a\")", 10) + ".size() > 2",
                 kPieces);
  expect_stopped(grown("a", 5, 15) + ".split(\"\").size() > 2", kPieces);
  expect_stopped(grown("a", 5, 15) + ".split(\"a\").join(\"bb\").split(\"b\").join(\"cc\").size() > 2", kPieces);
  expect_stopped(grown("a", 5, 15) + repeated(".upperAscii().lowerAscii()", 40) + ".size() > 2", kWork);
  std::string doubled = "x20.size() > 0";
  for (int i = 20; i > 0; --i) {
    const std::string before = "x" + std::to_string(i - 1);
    doubled = "cel.bind(x" + std::to_string(i) + ", " + before + " + " + before + ", " + doubled + ")";
  }
  for (const char* start : {"\"abcd\"", "b\"abcd\"", "[1, 2, 3, 4]", "[[1], [2], [3]]"})
    expect_stopped(std::string("cel.bind(x0, ") + start + ", " + doubled + ")", kGrows);
}

// A long text costs its length where upstream's cost is that of the other operand, or of none.
TEST(Dos, LongTextsInLoops) {
  const std::string text = "cel.bind(x, \"\u00fc\" + " + grown("a", 4, 24) + ", lists.range(100000).";
  for (const char* body :
       {"all(i, x != \"\")", "all(i, dyn(x) != 1)", "all(i, x.size() > 0)", "all(i, x.charAt(3) == \"a\")",
        "all(i, x in {\"aa\": 1} || true)", "all(i, dyn(x) <= dyn(x))", "all(i, {x: 1}[x] == 1)",
        "exists(i, dyn({})[x] == 1)", "exists(i, [x].join() == \"\")", "all(i, x in [\"a\"] || true)",
        "all(i, timestamp(x) == timestamp(x) || true)", "exists(i, x.endsWith(\"b\"))",
        "exists(i, matches(x, \"[ab]+c\"))", "exists(i, isURL(x))", "exists(i, isQuantity(x))",
        "exists(i, duration(x) == duration(x) && false)", "exists(i, [x, x].sort() == [])"})
    expect_stopped(text + body + ")", kWork);
  const std::string digits = "cel.bind(x, " + grown("0", 5, 15) + ", lists.range(100000).all(i, ";
  for (const char* body : {"int(x) == 1", "uint(x) == 1u", "double(x) == 1.0", "quantity(x) == quantity(\"1\")"})
    expect_stopped(digits + body + " || true))", kWork);
  std::string errors = "cel.bind(x, " + grown("a", 5, 15) + ", dyn({})[x] == 0";
  for (int i = 1; i < 150; ++i) errors += " || dyn({})[x] == " + std::to_string(i);
  EXPECT_LT(expect_stopped(errors + ")", kWork).size(), 5000U);
}

TEST(Dos, Formatting) {
  for (const char* clause : {"%.900000f", "%.900000e", "%.100000f", "%.1000f"}) {
    std::string all = "false";
    for (int i = 0; i < 200; ++i)
      all += " || \"" + std::string(clause) + "\".format([1.5e300]) == \"" + std::to_string(i) + "\"";
    if (std::string(clause) == "%.1000f")
      expect_false(all);
    else
      expect_stopped(all, kWork);
    expect_stopped("lists.range(20000).all(i, \"" + std::string(clause) + "\".format([1.5e300]) != \"\")", kWork);
  }
  std::string nested = "\"%s\".format([x20]) == \"\"";
  for (int i = 20; i > 0; --i) {
    const std::string before = "x" + std::to_string(i - 1);
    nested = "cel.bind(x" + std::to_string(i) + ", dyn([" + before + ", " + before + "]), " + nested + ")";
  }
  expect_stopped("cel.bind(x0, dyn([1]), " + nested + ")", kWork);
}

TEST(Dos, MapsWithKeysThatCollide) {
  expect_stopped("lists.range(10000).transformMapEntry(i, v, {0.0 / dyn(0.0): v}).size() > 0", kWork);
  for (const char* key :
       {"timestamp(v)", "duration(string(v) + \"s\")", "[v]", "double(v)", "v * 4294967296", "string(v)"})
    expect_true("lists.range(10000).transformMapEntry(i, v, {" + std::string(key) + ": v}).size() == 10000");
}

TEST(Dos, LargeAutomataOnManyTexts) {
  for (const char* pattern :
       {".{1,1000}b", "[a-c].{1,900}b", "([0-4].{0,100}){5}x", "(a?){60}a{60}b$", "[\\\\pL]{1,500}x"}) {
    const std::string end = std::string("\"") + pattern + "\")";
    expect_stopped("lists.range(9000).exists(i, device.attributes[\"d\"].text.matches(" + end + ")", kWork);
    expect_stopped("lists.range(9000).exists(i, (device.attributes[\"d\"].text + string(i)).matches(" + end + ")",
                   kWork);
    expect_stopped("lists.range(9000).exists(i, device.attributes[\"d\"].text.findAll(" + end + ".size() > 70)",
                   "findAll: too many matches in a text of 64 bytes");
    const std::string joined = "lists.range(5000).map(i, \"a\" + string(i)).join().matches(" + end;
    if (std::string(pattern) == "(a?){60}a{60}b$")
      expect_false(joined);
    else
      expect_stopped(joined, kWork);
  }
}

TEST(Dos, SlowCallsInLoops) {
  expect_stopped("lists.range(30000).exists(i, timestamp(\"2023-01-01T00:00:00Z\").getHours(\"X/\" + string(i)) < 0)",
                 kWork);
  expect_stopped("lists.range(9000).all(i, quantity(\"1e2000\").add(quantity(\"1\")).isGreaterThan(quantity(\"1\")))",
                 kWork);
  expect_stopped("lists.range(30000).all(i, quantity(\"" + repeated("9", 4000) + "\").isGreaterThan(quantity(\"" +
                     repeated("9", 4000) + ".1e1\")) || true)",
                 kWork);
  expect_stopped("lists.range(60000).all(i, quantity(\"" + repeated("9", 4000) + "\") == quantity(\"" +
                     repeated("9", 4001) + "\") || true)",
                 kWork);
  expect_stopped("dyn(lists.range(100000).map(i, -i)).sort().size() > 0", kCost);
  expect_true("lists.range(5000).all(i, url(\"http://example.com/a?b=c&d=e\").getQuery().size() == 2)");
}

TEST(Dos, Searches) {
  const std::string text = "\"" + repeated("a", 4000) + "\"";
  const std::string needle = "\"" + repeated("a", 2000) + "b\"";
  expect_true("!" + text + ".contains(" + needle + ")");
  expect_true(text + ".indexOf(" + needle + ") == -1");
  expect_true(text + ".lastIndexOf(\"b" + repeated("a", 2000) + "\") == -1");
  expect_false(text + ".matches(\"(a*)*(a*)*(a*)*b\")");
  expect_true(text + ".matches(\"" + repeated("a?", 100) + repeated("a", 100) + "$\")");
  expect_stopped("\"" + repeated("a", 2000) + "\".findAll(\"a*b|a\").size() > 0",
                 "findAll: too many matches in a text of 2000 bytes");
}

std::string chained(const std::string& term, size_t bytes) {
  std::string out = "true";
  while (out.size() + term.size() + 4 < bytes) out += " && " + term;
  return out;
}

TEST(Dos, PatternsThatAreLargeWhenCompiled) {
  static const Environment env;
  struct Pattern {
    const char* text;
    bool fits;  // "aa"
  };
  static constexpr Pattern kPatterns[] = {{".{1,1000}", true},
                                          {"(.{1,999})", true},
                                          {"[a-z]{1,1000}", true},
                                          {"x{1000}", false},
                                          {"(x{10}){100}", false},
                                          {"\\\\pL{1000}", false},
                                          {"(?i)\\\\pL{1,500}", true},
                                          {"[\\\\pL\\\\pN]{1,63}", true},
                                          {"\\\\pL\\\\pN\\\\pS\\\\pL\\\\pN\\\\pS\\\\pL\\\\pN\\\\pS[", false},
                                          {"((x{9}){9}){9}", false},
                                          {"a|b|c", true}};
  for (const auto& [pattern, fits] : kPatterns) {
    const bool small = std::string(pattern) == "a|b|c", broken = std::string(pattern).ends_with("[");
    for (const bool matches : {true, false}) {
      const std::string equal = std::string("\"aa\".") + (matches ? "matches" : "find") + "(\"" + pattern;
      const std::string end = matches ? "\")" : "\") == \"\"";
      const std::string chain = chained(equal + end, kMaxExpressionBytes);
      std::string different = "true";
      for (int i = 0; different.size() < kMaxExpressionBytes - 60; ++i)
        different += " && " + equal + std::to_string(i) + end;
      if (broken) {
        const std::string why = matches ? "invalid matches argument" : "missing closing ]";
        for (const std::string& expression : {equal + end, chain, different}) expect_refused(expression, why);
        continue;
      }
      const End once = matches == fits ? End::kTrue : End::kFalse;  // find() gives "" if there is none
      expect_end(equal + end, once, "");
      expect_end(chain, once, "");
      if (small)
        expect_end(different, once, "");
      else
        expect_refused(different, "too many or too large");
    }
    const std::string long_one =
        "\"a\".matches(\"" + repeated(pattern, 9000 / static_cast<int>(std::string(pattern).size())) + "\")";
    const std::string each =
        std::string("lists.range(1000).all(i, \"aa\".find(\"") + pattern + "\" + string(i)) == \"\")";
    if (small) {
      expect_true(long_one);
      expect_false(each);
    } else {
      expect_refused(long_one, "invalid matches argument");
      expect_stopped(each, kWork);
    }
  }
  EXPECT_TRUE(compile("\"a\".matches(\".{1,1000}\")", env).ok());
  for (const char* pattern : {"[\\p{L}\\p{N}_-]{1,63}", "(?i)nvidia.*", "^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$",
                              "^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)*$",
                              "^[\\p{L}\\p{N}\\p{M}_.-]{1,253}$"}) {
    const std::string typical = std::string("device.driver.matches(r\"") + pattern + "\")";
    EXPECT_TRUE(compile(typical, env).ok()) << pattern;
    EXPECT_TRUE(compile(chained(typical, kMaxExpressionBytes), env).ok()) << pattern;
  }
  std::string large;
  for (const char* letter : {"a", "b", "c", "d", "e", "f", "g"})
    large += std::string(large.empty() ? "" : " && ") + "\"a\".matches(\"[a-z]{1,1000}" + letter + "\")";
  const CompileResult refused = compile(large, env);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error->category, CompileCategory::kLiteralValidator);
  EXPECT_NE(refused.error->message.find("too many or too large regular expressions"), std::string::npos);
}

TEST(Dos, DeepNesting) {
  for (const int depth : {100, 240, 249, 250, 251, 1000, 5000}) {
    const End even = depth % 2 == 0 ? End::kTrue : End::kFalse;
    expect_end(repeated("!", depth) + "true", even, "");
    expect_end(repeated("-", depth) + "1 == 1", even, "");
    expect_true("true" + repeated(" && true", depth / 2));
    // What the parser or the checker would descend into level by level.
    const auto expect_up_to = [&](int most, const std::string& expression, End end, const std::string& why) {
      const bool deeper = depth > most;
      expect_end(expression, deeper ? End::kRefused : end, deeper ? "recursion" : why);
    };
    expect_up_to(249, repeated("(", depth) + "true" + repeated(")", depth), End::kTrue, "");
    expect_up_to(250, repeated("[", depth) + repeated("]", depth) + " == []", End::kFalse, "");
    expect_up_to(249, "1" + repeated("+1", depth) + " > 0", End::kTrue, "");
    expect_up_to(1000, "true" + repeated(" ? true : false", depth / 8), End::kTrue, "");
    expect_up_to(251, "\"a\"" + repeated(".trim()", depth / 4) + " == \"a\"", End::kTrue, "");
    expect_up_to(249, repeated("{\"a\":", depth) + "1" + repeated("}", depth) + " == {}", End::kFalse, "");
    expect_up_to(249, "dyn({})" + repeated(".a", depth) + " == 1", End::kStopped, "no such key: a");
    expect_up_to(249, "dyn([])" + repeated("[0]", depth) + " == 1", End::kStopped, "index out of bounds: 0");
  }
}

TEST(Dos, CompilersThatCrash) {
  for (const char* expression : {"[?device.attributes[\"d\"].x].size() == 1", "{?\"k\": dyn(1)}.size() == 1"})
    expect_refused(expression, "an optional element ('?') needs a value of type optional_type");
  expect_refused("{b\"a\": 1}.size() == 1", "a map key cannot be of type 'bytes'");
}

TEST(Dos, ListFunctions) {
  expect_stopped("lists.range(1000).map(x, x % 7).distinct().size() == 7", kCost);
  expect_true("lists.range(600).distinct().size() == 600");
  expect_true("lists.range(600).reverse().sort()[0] == 0");
  expect_stopped("lists.range(1000000000).size() > 0", kCost);
  expect_stopped("lists.range(9223372036854775807).size() > 0", kCost);
  expect_true("sets.contains(lists.range(900), lists.range(900))");
  expect_stopped("lists.range(100000).includes(99999)", "cannot be applied to lists longer than 48 values");
  expect_true("lists.range(30000).indexOf(29999) == 29999");
  expect_true("lists.range(900000).size() == 900000");
}

}  // namespace dra::cel::dos_test
