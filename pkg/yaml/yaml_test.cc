#include "pkg/yaml/yaml.h"

#include <gtest/gtest.h>

#include <chrono>
#include <nlohmann/json.hpp>

#include "pkg/base/random.h"

namespace dra::yaml::yaml_test {

using Json = nlohmann::json;

Json must_parse(std::string_view text) {
  auto value = parse(text);
  EXPECT_TRUE(value) << (value ? "" : value.error().message());
  return value ? *value : Json("parse error");
}

TEST(YamlTest, PlainScalarsAreResolvedAsKubectlResolvesThem) {
  const Json expected = {{"a", true},    {"b", false},   {"c", 8},      {"d", 15},
                         {"e", 1.1},     {"f", 1000},    {"g", "80Gi"}, {"h", "2024-01-01"},
                         {"i", "yes"},   {"j", nullptr}, {"k", "010"},  {"l", 255},
                         {"m", "1.2.3"}, {"n2", -7},     {"o", "<="},   {"true", "on key"}};
  EXPECT_EQ(must_parse("a: yes\nb: Off\nc: 010\nd: 0o17\ne: 1.10\nf: 1e3\ng: 80Gi\nh: 2024-01-01\ni: 'yes'\nj: ~\n"
                       "k: !!str 010\nl: 0xFF\nm: 1.2.3\nn2: -7\no: <=\ny: on key\n"),
            expected);
}

TEST(YamlTest, FoldedAndLiteralBlocksKeepTheirText) {
  EXPECT_EQ(must_parse("x: >\n  a &&\n  b\ny1: |\n  1\n  2\n"), Json({{"x", "a && b\n"}, {"y1", "1\n2\n"}}));
}

TEST(YamlTest, SeveralDocumentsAndEmptyOnes) {
  auto documents = parse_all("---\na: 1\n---\n# nothing\n---\n{\"b\": [1, 2]}\n");
  ASSERT_TRUE(documents);
  ASSERT_EQ(documents->size(), 2U);
  EXPECT_EQ((*documents)[1], Json({{"b", {1, 2}}}));
}

TEST(YamlTest, MergeKeysAndAliases) {
  EXPECT_EQ(must_parse("base: &b {x: 1, y1: 2}\nother:\n  <<: *b\n  x: 3\n")["other"], Json({{"x", 3}, {"y1", 2}}));
}

TEST(YamlTest, ErrorsNameThePlace) {
  auto value = parse("a: 1\nb: [1, 2\nc: 3\n");
  ASSERT_FALSE(value);
  EXPECT_EQ(value.error().code(), Code::kInvalidArgument);
  EXPECT_NE(value.error().message().find("line 3"), std::string::npos) << value.error().message();
  value = parse("a: 1\na: 2\n", {.refuse_duplicate_keys = true});
  ASSERT_FALSE(value);
  EXPECT_EQ(value.error().message(), "line 2, column 1: key \"a\" already set in map");
}

TEST(YamlTest, AliasBombsAndDepthAreBounded) {
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 9; ++i) {
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
    for (int k = 0; k < 10; ++k) bomb += std::string(k ? ", " : "") + "*a" + std::to_string(i - 1);
    bomb += "]\n";
  }
  auto value = parse(bomb);
  ASSERT_FALSE(value);
  EXPECT_NE(value.error().message().find("excessive aliasing"), std::string::npos) << value.error().message();
  EXPECT_FALSE(parse(std::string(5000, '[') + std::string(5000, ']')));
}

// Each of these took many seconds to minutes, or all memory, before it was rejected.
TEST(YamlTest, SmallTextsCannotMakeLargeWork) {
  for (const char* prefix : {"", "a: ", "a: |\n  'x\nb: ", "- "}) {
    auto value = parse(prefix + std::string(200'000, '['));
    ASSERT_FALSE(value);
    EXPECT_NE(value.error().message().find("nested deeper than"), std::string::npos) << value.error().message();
  }
  EXPECT_TRUE(parse(std::string(250, '[') + std::string(250, ']')));
  EXPECT_TRUE(parse("a: |\n  " + std::string(5000, '[') + "\n"));
  std::string aliases = "a: &a " + std::string(100'000, 'x') + "\nb: [";
  for (int i = 0; i < 1000; ++i) aliases += "*a, ";
  auto value = parse(aliases + "1]\n");
  ASSERT_FALSE(value);
  EXPECT_NE(value.error().message().find("excessive aliasing"), std::string::npos) << value.error().message();
  std::string long_key = "{" + std::string(900, 'k') + ": [";
  for (int i = 0; i < 100'000; ++i) long_key += "1, ";
  EXPECT_TRUE(parse(long_key + "1]}"));
}

// 60,000 anchors took 20 s: each was compared with all earlier ones.
TEST(YamlTest, AnchorsAndDirectivesAreCountedBeforeTheyCost) {
  std::string anchors;
  for (int i = 0; i < 60'000; ++i) anchors += "- &a" + std::to_string(i) + " x\n";
  std::string directives = "%YAML 1.1\n";
  for (int i = 0; i < 60'000; ++i) directives += "%TAG !t" + std::to_string(i) + "! tag:example.com,2000:\n";
  const std::string utf16 = "\xff\xfe" + directives;
  for (const std::string& text : {anchors, directives + "---\na: 1\n", utf16}) {
    const auto start = std::chrono::steady_clock::now();
    auto value = parse(text);
    // A few milliseconds, more under sanitizers; quadratic work would take minutes.
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10)) << text.substr(0, 40);
    ASSERT_FALSE(value) << text.substr(0, 40);
  }
  EXPECT_EQ(parse(anchors).error().message(), "line 10001, column 3: more than 10000 anchors");
}

TEST(YamlTest, AnchorsFollowGoYaml) {
  EXPECT_EQ(must_parse("a: &x 1\nb: &x 2\nc: *x\n*x : 3\n"), Json({{"2", 3}, {"a", 1}, {"b", 2}, {"c", 2}}));
  EXPECT_EQ(parse("a: &x [*x]\n").error().message(), "line 1, column 8: anchor 'x' value contains itself");
  EXPECT_EQ(parse("a: *y\n").error().message(), "line 1, column 4: found undefined alias");
  // An anchor is not visible in the next document.
  EXPECT_FALSE(parse_all("a: &x 1\n---\nb: *x\n"));
}

// Levels added by aliases count like written ones, and so do copies kept for aliases that never follow.
TEST(YamlTest, AliasesCannotBuildDepthOrCopies) {
  std::string chain = "- &a0 [x]\n";
  for (int i = 1; i < 50; ++i) {
    chain += "- &a" + std::to_string(i) + " " + std::string(100, '[') + "*a" + std::to_string(i - 1) +
             std::string(100, ']') + "\n";
  }
  EXPECT_NE(parse(chain).error().message().find("nested deeper than"), std::string::npos);
  std::string nested;
  for (int i = 0; i < 200; ++i) nested += "&n" + std::to_string(i) + " [";
  for (int i = 0; i < 5000; ++i) nested += "x, ";
  auto value = parse(nested + "x" + std::string(200, ']'));
  ASSERT_FALSE(value);
  EXPECT_NE(value.error().message().find("excessive aliasing"), std::string::npos) << value.error().message();
}

TEST(YamlTest, DuplicateKeysAreNotedWithoutASecondReading) {
  std::vector<std::string> noted;
  Options options;
  options.duplicate_keys = &noted;
  auto value = parse("a: 1\na: 2\nb: {c: 1, c: 2}\n", options);
  ASSERT_TRUE(value);
  EXPECT_EQ(*value, Json({{"a", 2}, {"b", {{"c", 2}}}}));
  EXPECT_EQ(noted, (std::vector<std::string>{"line 2, column 1: key \"a\" already set in map",
                                             "line 3, column 11: key \"c\" already set in map"}));
}

TEST(YamlTest, PositionsAreByJsonPointer) {
  Positions positions;
  ASSERT_TRUE(parse_with_positions("nodes:\n- name: a\n  labels:\n    x/y: z\n", positions));
  EXPECT_EQ(positions.at("/nodes/0/name").line, 2U);
  EXPECT_EQ(positions.at("/nodes/0/labels/x~1y").line, 4U);
  positions.clear();
  ASSERT_TRUE(parse_with_positions("base: &b\n  x:\n  - 1\nother: *b\n", positions));
  EXPECT_EQ(positions.at("/other").line, 1U);
  EXPECT_EQ(positions.at("/other/x/0").line, 3U);
}

// Whatever emit() writes, parse() reads back as the same document.
TEST(YamlTest, WhatOtherReadersTakeForANumberIsQuoted) {
  for (const char* text : {"0000:01:00.0", "01:00.0", "17:05", "-1:2:3.5", "1_0:59", "0001:02:00.1"})
    EXPECT_EQ(emit(text), "\"" + std::string(text) + "\"\n");
  for (const char* text : {"0000:3b:00.0", "0000:81:00.0", "01:60", "a:01", "1:", "1:2:x", "01:00.0x"}) {
    const std::string written = emit(text);
    EXPECT_EQ(written[0] == '"', text == std::string("1:")) << written;
  }
}

TEST(YamlTest, EmitRoundTrips) {
  const std::vector<Json> leaves = {"",
                                    "yes",
                                    "a: b",
                                    "x #y",
                                    "- z",
                                    "123",
                                    "1e3",
                                    "~",
                                    "line\nbreak",
                                    "plain text",
                                    "ends:",
                                    "\"q\"",
                                    "010",
                                    nullptr,
                                    true,
                                    -3,
                                    1.5,
                                    Json::array(),
                                    Json::object(),
                                    "ünï",
                                    "{a",
                                    "<<",
                                    "line\xe2\x80\xa8separator",
                                    "next\xc2\x85line",
                                    "del\x7f",
                                    "\xc2\x9f: #",
                                    "\xef\xbb\xbf bom",
                                    "... x"};
  const uint64_t seed = 20261121;
  SeededRandom random(seed);
  const std::function<Json(int)> make = [&](int depth) -> Json {
    const uint64_t kind = random.below(depth > 4 ? 1 : 3);
    if (kind == 0) return leaves[random.below(leaves.size())];
    Json value = kind == 1 ? Json::array() : Json::object();
    for (uint64_t i = random.below(4); i > 0; --i) {
      if (kind == 1)
        value.push_back(make(depth + 1));
      else
        value["key" + random.name_suffix(2)] = make(depth + 1);
    }
    return value;
  };
  for (int i = 0; i < 500; ++i) {
    const Json value = Json::object({{"top", make(0)}});
    auto back = parse(emit(value));
    ASSERT_TRUE(back) << "seed " << seed << "\n" << emit(value) << back.error().message();
    ASSERT_EQ(*back, value) << "seed " << seed << "\n" << emit(value);
  }
}

}  // namespace dra::yaml::yaml_test
