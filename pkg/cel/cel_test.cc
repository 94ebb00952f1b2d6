// Compiling and evaluating selectors: what the rules of the language and of DRA say, on our own examples.
#include "pkg/cel/cel.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "pkg/base/random.h"

namespace dra::cel::cel_test {
namespace {

Environment env_of(Release release, bool lists = false, bool fresh = false, bool quantities = false) {
  EnvironmentOptions o;
  o.release = release;
  o.list_attributes = lists;
  o.new_expressions = fresh;
  o.quantity_operators = quantities;
  return Environment(o);
}

DeviceInput nic() {
  DeviceInputBuilder b("nic.example.org", true);
  b.add_string("vendor", "acme").add_int("mtu", 9000).add_bool("rdma", true).add_version("firmware", "22.35.1");
  b.add_string("switch.example.net/name", "leaf-07").add_capacity_text("bandwidth", "100G");
  b.add_capacity_text("switch.example.net/uplink", "400G");
  return b.build();
}

EvalResult evaluate(const std::string& expression, const DeviceInput& device = nic(), const Environment& env = {}) {
  CompileResult r = compile(expression, env);
  EXPECT_TRUE(r.ok()) << expression << ": " << (r.error ? r.error->message : "");
  return r.ok() ? r.program->evaluate(device) : EvalResult{RuntimeCategory::kInternal, false, 0, 0, "", ""};
}

bool holds(const std::string& expression) {
  EvalResult r = evaluate(expression);
  EXPECT_TRUE(r.ok()) << expression << ": " << r.message;
  return r.ok() && r.value;
}

TEST(Selector, ReadsTheDevice) {
  EXPECT_TRUE(holds("device.driver == 'nic.example.org'"));
  EXPECT_TRUE(holds("device.allowMultipleAllocations"));
  EXPECT_TRUE(holds("device.attributes['nic.example.org'].mtu == 9000"));
  EXPECT_TRUE(holds("device.attributes['switch.example.net'].name.startsWith('leaf')"));
  EXPECT_TRUE(holds("device.capacity['nic.example.org'].bandwidth.compareTo(quantity('100G')) == 0"));
  EXPECT_TRUE(holds("device.attributes['nic.example.org'].firmware.isGreaterThan(semver('22.0.0'))"));
}

TEST(Selector, UnknownDomainsAreEmptyUnknownNamesAreErrors) {
  EXPECT_TRUE(holds("device.attributes['nowhere'].size() == 0"));
  EXPECT_FALSE(holds("has(device.attributes['nowhere'].x)"));
  EXPECT_FALSE(holds("'nowhere' in device.attributes"));
  EvalResult r = evaluate("device.attributes['nic.example.org'].color == 'red'");
  EXPECT_EQ(r.error, RuntimeCategory::kNoSuchKey);
  EXPECT_EQ(r.message, "no such key: color");
  EXPECT_NE(r.hint.find("attribute \"color\" in domain \"nic.example.org\" is not published"), std::string::npos)
      << r.hint;
}

TEST(Selector, QualifiedNamesWinOverUnqualifiedOnes) {
  DeviceInputBuilder b("d.example.org");
  b.add_int("d.example.org/x", 1).add_int("x", 2);
  DeviceInput device = b.build();
  EXPECT_TRUE(evaluate("device.attributes['d.example.org'].x == 1", device).value);
}

TEST(Selector, ErrorsAreAbsorbedByLogic) {
  EXPECT_FALSE(holds("device.attributes['d'].x == 1 && false"));
  EXPECT_TRUE(holds("1 / 0 == 1 || true"));
  EXPECT_EQ(evaluate("1 / 0 == 1 || false").error, RuntimeCategory::kDivByZero);
  EXPECT_EQ(evaluate("(1 / 0 == 1) && (device.attributes['d'].x == 1)").error, RuntimeCategory::kDivByZero);
}

TEST(Selector, OneBadValueSpoilsTheDevice) {
  DeviceInputBuilder b("d.example.org");
  b.add_version("v", "not-a-version").add_int("i", 1);
  EvalResult r = evaluate("true", b.build());
  EXPECT_EQ(r.error, RuntimeCategory::kAttributeValue);
  EXPECT_EQ(r.message, "attribute v: parse semantic version: No Major.Minor.Patch elements found");
  DeviceInputBuilder lists("d.example.org");
  lists.add_ints("l", {1, 2});
  DeviceInput device = lists.build();
  EXPECT_EQ(evaluate("true", device).error, RuntimeCategory::kAttributeValue);
  Environment with_lists = env_of(Release::k136, true);
  EXPECT_TRUE(evaluate("2 in device.attributes['d.example.org'].l", device, with_lists).value);
}

TEST(Compile, RefusesWithPositionAndUpstreamsWords) {
  CompileResult r = compile("device.driver ==\n  nosuch", {});
  ASSERT_FALSE(r.ok());
  EXPECT_EQ(r.error->category, CompileCategory::kUndeclared);
  EXPECT_EQ(r.error->line, 2);
  EXPECT_EQ(r.error->column, 3);
  EXPECT_EQ(r.error->message,
            "compilation failed: ERROR: <input>:2:3: undeclared reference to 'nosuch' (in container '')\n |   nosuch\n "
            "| ..^");
}

TEST(Compile, SuggestsWhatToWriteInstead) {
  CompileResult r = compile("device.capacity['d'].memory >= quantity('40Gi')", {});
  ASSERT_FALSE(r.ok());
  EXPECT_EQ(r.error->category, CompileCategory::kNoMatchingOverload);
  EXPECT_NE(r.error->hint.find("compareTo"), std::string::npos);
  EvalResult e = evaluate("device.capacity['nic.example.org'].bandwidth >= quantity('40G')", nic(),
                          env_of(Release::k136, false, false, true));
  EXPECT_TRUE(e.ok() && e.value);
}

// The messages are the API server's; what to write is the hint's.
TEST(Compile, SaysWhichFieldsThereAreAndWhatASelectorIs) {
  const auto hint = [](const char* expression) {
    const CompileResult r = compile(expression, {});
    return r.error ? r.error->hint : "";
  };
  EXPECT_EQ(hint("device.foo == 1"), "the fields of device are driver, attributes, capacity, allowMultipleAllocations");
  EXPECT_EQ(hint("driver == 'x'").rfind("a selector has one variable, device, with the fields driver, ", 0), 0u);
  EXPECT_EQ(hint("device.driver").rfind("the expression is of type string, and a selector is true or false", 0), 0u);
  EXPECT_EQ(hint("device.driver == 'x'"), "");
}

TEST(Compile, TheApiServersVerdict) {
  Environment env = env_of(Release::k136, false, true);
  auto verdict = [&](const std::string& e) { return api_verdict(e, compile(e, env)); };
  EXPECT_EQ(verdict("true"), ApiVerdict::kAccepted);
  EXPECT_EQ(verdict("tru"), ApiVerdict::kInvalid);
  EXPECT_EQ(verdict("int('x') == 1"), ApiVerdict::kInternalError);
  EXPECT_EQ(verdict("device.capacity['d'].memory != quantity('1')"), ApiVerdict::kTooComplex);
  EXPECT_EQ(verdict("true" + std::string(kMaxExpressionBytes, ' ')), ApiVerdict::kTooLong);
}

TEST(Reads, AreConstantPathsOrEverything) {
  auto reads = [](const std::string& e) {
    CompileResult r = compile(e, {});
    EXPECT_TRUE(r.ok()) << e;
    return r.ok() ? r.program->reads() : Reads{};
  };
  Reads r = reads("device.driver == 'x' && device.attributes['a'].m == 1 && device.capacity['b'].c.isInteger()");
  EXPECT_TRUE(r.driver);
  EXPECT_FALSE(r.all_attributes || r.all_capacities || r.allow_multiple_allocations);
  EXPECT_EQ(r.attributes, (std::vector<std::pair<std::string, std::string>>{{"a", "m"}}));
  EXPECT_EQ(r.capacities, (std::vector<std::pair<std::string, std::string>>{{"b", "c"}}));
  r = reads("cel.bind(d, device.attributes['a'], d.x == 1 || has(d.y) || 'z' in d || d.?w.hasValue())");
  EXPECT_FALSE(r.all_attributes);
  EXPECT_EQ(r.attributes.size(), 4u);
  EXPECT_TRUE(reads("device.attributes['a'].exists(k, k == 'x')").all_attributes);
  EXPECT_TRUE(reads("device.attributes.all(d, device.attributes[d].size() > 0)").all_attributes);
  EXPECT_TRUE(reads("dyn(device).size() == 4").all_capacities);
  EXPECT_TRUE(reads("device.attributes[device.driver].x == 1").all_attributes);
  EXPECT_TRUE(reads("device.?attributes['a'].orValue({}).size() == 1").all_attributes);
}

// What an expression does not read cannot change its outcome.
TEST(Reads, OtherMembersDoNotMatter) {
  const char* expressions[] = {"device.attributes['a.b'].x == 1 || device.attributes['a.b'].y == 2",
                               "device.attributes['a.b'].?x.orValue(3) > 2", "has(device.attributes['a.b'].z)",
                               "cel.bind(d, device.attributes['a.b'], has(d.x) ? d.x == 1 : d.?y.hasValue())"};
  SeededRandom random(11);
  for (const char* text : expressions) {
    CompileResult r = compile(text, {});
    ASSERT_TRUE(r.ok());
    for (int i = 0; i < 50; ++i) {
      DeviceInputBuilder one("a.b");
      DeviceInputBuilder two("a.b");
      for (const auto& [domain, name] : r.program->reads().attributes) {
        if (random.below(3) == 0) continue;
        auto value = static_cast<int64_t>(random.below(4));
        one.add_int(domain + "/" + name, value);
        two.add_int(domain + "/" + name, value);
      }
      two.add_int("unread", 1).add_string("other.org/x", "y");
      EvalResult a = r.program->evaluate(one.build());
      EvalResult b = r.program->evaluate(two.build());
      EXPECT_EQ(a.error, b.error) << text;
      EXPECT_EQ(a.value, b.value) << text;
    }
  }
}

TEST(Limits, DeepNestingIsRefused) {
  for (const std::string& part : {std::string("("), std::string("["), std::string("{1:"), std::string("!("),
                                  std::string("true ? 1 : "), std::string("a["), std::string("dyn(")}) {
    std::string e;
    for (int i = 0; i < 20000; ++i) e += part;
    CompileResult r = compile(e, {});
    ASSERT_FALSE(r.ok());
  }
  std::string sums = "1";
  for (int i = 0; i < 30000; ++i) sums += "+1";
  EXPECT_EQ(compile(sums + " == 1", {}).error->category, CompileCategory::kRecursionLimit);
  std::string parens = std::string(249, '(') + "true" + std::string(249, ')');
  EXPECT_TRUE(compile(parens, {}).ok());
  EXPECT_EQ(compile("(" + parens + ")", {}).error->category, CompileCategory::kRecursionLimit);
  EXPECT_EQ(compile(std::string(100'001, ' '), {}).error->category, CompileCategory::kSizeLimit);
}

std::string chained(const std::string& head, const std::string& link, int count, const std::string& tail) {
  std::string e = head;
  for (int i = 0; i < count; ++i) e += link;
  return e + tail;
}

// Expressions whose work grows out of proportion to their length or their cost must end soon all the same.
TEST(Limits, WorkIsBounded) {
  std::string doubling = "cel.bind(v0, 'aaaaaaaaaa', ";
  std::string types = "cel.bind(v0, {1: 1}, ";
  std::string pairs = "cel.bind(v0, [1], ";
  for (int i = 1; i < 60; ++i) {
    std::string v = "v" + std::to_string(i);
    std::string u = "v" + std::to_string(i - 1);
    doubling += "cel.bind(" + v + ", " + u + " + " + u + ", ";
    types += "cel.bind(" + v + ", {" + u + ": " + u + "}, ";
    if (i < 40) pairs += "cel.bind(" + v + ", [" + u + ", " + u + "], ";
  }
  const std::string expressions[] = {
      "lists.range(100000).all(x, x >= 0)",
      "quantity('1e30000000').isGreaterThan(quantity('1'))",
      "quantity('1e-999999999').isGreaterThan(quantity('1'))",
      "'" + std::string(2000, 'a') + "'.replace('', '" + std::string(2000, 'b') + "').replace('', '" +
          std::string(2000, 'c') + "').size() > 0",
      "lists.range(2000).distinct().size() == 1",
      doubling + "v59.size() > 0" + std::string(60, ')'),
      types + "v59.size() > 0" + std::string(60, ')'),
      pairs + "v39 == v39" + std::string(40, ')'),
      "cel.bind(big, lists.range(100000), lists.range(100000).all(x, big == big))",
      chained("optional.of(1)", ".optMap(x, x)", 100, ".hasValue()"),
      chained("[1]", ".sortBy(e, e)", 50, ".size() == 1"),
      "lists.range(500).map(x, lists.range(500)).flatten().map(y, string(y)).size() > 0",
      "'%s'.format([lists.range(900000)]).size() > 0",
      "lists.range(300).transformMap(i, v, lists.range(300)).size() > 0",
  };
  for (const std::string& e : expressions) {
    auto start = std::chrono::steady_clock::now();
    CompileResult r = compile(e, {});
    if (r.ok()) r.program->evaluate(nic());
    auto took = std::chrono::steady_clock::now() - start;
    // What is unbounded takes minutes. Time for sanitizers and shared machines; cel_bench measures.
    EXPECT_LT(took, std::chrono::seconds(30)) << e.substr(0, 100);
  }
}

TEST(Limits, CostAndInterruption) {
  CompileResult r = compile("lists.range(1000).all(x, lists.range(1000).all(y, x + y >= 0))", {});
  ASSERT_TRUE(r.ok());
  EXPECT_EQ(r.program->evaluate(nic()).error, RuntimeCategory::kCostLimit);
  CompileResult small = compile("lists.range(500).all(x, x >= 0) || true", {});
  std::atomic<bool> stop = true;
  EvalLimits limits;
  limits.interrupt = &stop;
  EXPECT_EQ(small.program->evaluate(nic(), limits).error, RuntimeCategory::kInterrupted);
}

TEST(Folds, GrowListsAndMapsInPlaceWithoutSharing) {
  EXPECT_TRUE(holds("[1, 2, 3].map(x, [1, 2].map(y, x * y)) == [[1, 2], [2, 4], [3, 6]]"));
  EXPECT_TRUE(holds("lists.range(100).filter(x, x % 2 == 0).map(x, x + 1).size() == 50"));
  EXPECT_TRUE(holds("lists.range(50).transformMap(i, v, v * v)[49] == 2401"));
  EXPECT_TRUE(holds("lists.range(20).transformMapEntry(i, v, {string(v): i})['19'] == 19"));
  EXPECT_EQ(evaluate("[1, 1].transformMapEntry(i, v, {v: i}).size() == 1").error, RuntimeCategory::kDuplicateKey);
  EXPECT_TRUE(holds("cel.bind(unused, 1 / 0, true)"));
}

TEST(Threads, OneProgramManyThreads) {
  CompileResult r =
      compile("device.attributes['nic.example.org'].vendor.matches('^a.*e$') && [3, 1].sort() == [1, 3]", {});
  ASSERT_TRUE(r.ok());
  DeviceInput device = nic();
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 500; ++i) {
        if (!r.program->evaluate(device).value) ++wrong;
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
}

// Mutations of real expressions: anything may be answered, nothing may crash.
TEST(Robustness, MutatedExpressions) {
  const std::string seeds[] = {
      "device.attributes['a'].x.startsWith(\"y\") && !(device.capacity[?'b'].?c.orValue(quantity('1Ki')) == q)",
      "[1, 2u, 3.0e5, b'\\x00', r'\\d', null].map(x, x > 1 ? {x: [x]} : {}).exists_one(i, v, v in [i, 2])",
      "cel.bind(a, '%s %d'.format(['x', 1]), a.split(' ', -1).sortBy(e, e.size()).join(',')) == \"\\u00e9\"",
      "timestamp('2024-01-01T00:00:00Z').getHours('+01:30') in [1, 2] || duration('1h') > duration('1m')",
      "optional.of({'k': ip('::1')}).optMap(m, m.k.family()).orValue(4) == cidr('10.0.0.0/8').prefixLength()"};
  const std::string pieces[] = {"(",    ")",  "[",          "]",    "{",      "}", ".",  "?", ":", "'",
                                "\"",   "\\", "&&",         "||",   "device", "1", "-",  "!", "@", "`",
                                "\xff", "\n", ".map(x, x)", " in ", "0x",     "u", "e9", ",", "_"};
  SeededRandom random(7);
  DeviceInput device = nic();
  Environment env;
  for (int i = 0; i < 4000; ++i) {
    std::string e = seeds[random.below(std::size(seeds))];
    for (uint64_t k = random.below(4) + 1; k > 0; --k) {
      size_t at = random.below(e.size() + 1);
      size_t cut = std::min<size_t>(random.below(4), e.size() - at);
      e.replace(at, cut, random.below(4) == 0 ? "" : pieces[random.below(std::size(pieces))]);
    }
    CompileResult r = compile(e, env);
    ASSERT_TRUE(r.ok() || !r.error->message.empty()) << e;
    if (r.ok()) r.program->evaluate(device);
  }
}

}  // namespace
}  // namespace dra::cel::cel_test
