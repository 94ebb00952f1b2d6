#include "pkg/cel/lib/text.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "pkg/base/random.h"

namespace dra::cel::lib::text_test {

constexpr size_t kLimit = 1 << 20;

std::string replaced(std::string_view text, std::string_view from, std::string_view to, int64_t count = -1) {
  Arena arena;
  Budget budget{kLimit};
  return std::string(*replace(arena, budget, text, from, to, count));
}

std::vector<std::string_view> parts_of(std::string_view text, std::string_view separator, int64_t count = -1) {
  Budget budget;
  return *split(budget, text, separator, count);
}

// U+20AC is three bytes.
const std::string kEuro = "\xE2\x82\xAC";

TEST(Text, CharAtAndSubstringCountCodePoints) {
  const std::string text = "a" + kEuro + "b";
  EXPECT_EQ(*char_at(text, 1), kEuro);
  EXPECT_EQ(*char_at(text, 3), "");
  EXPECT_EQ(char_at(text, 4).error().message, "index out of range: 4");
  EXPECT_EQ(char_at(text, -1).error().category, RuntimeCategory::kIndex);
  EXPECT_EQ(*substring(text, 1), kEuro + "b");
  EXPECT_EQ(*substring(text, 1, 2), kEuro);
  EXPECT_EQ(*substring(text, 3), "");
  EXPECT_EQ(substring(text, 2, 1).error().message, "invalid substring range. start: 2, end: 1");
  EXPECT_EQ(substring(text, 9, 10).error().message, "index out of range: 9");
  EXPECT_EQ(substring(text, 0, 10).error().message, "index out of range: 10");
}

TEST(Text, IndexOf) {
  const std::string text = "a" + kEuro + "b" + kEuro;
  EXPECT_EQ(index_of(text, kEuro), 1);
  EXPECT_EQ(index_of(text, "x"), -1);
  EXPECT_EQ(*index_of(text, kEuro, 2, OffsetRules::k136), 3);
  EXPECT_EQ(*index_of(text, "", 99, OffsetRules::k136), 99);
  EXPECT_NE(*index_of(text, "", 99, OffsetRules::k137), 99);
  EXPECT_EQ(*index_of(text, "a", 99, OffsetRules::k136), -1);
  EXPECT_FALSE(index_of(text, "a", -1, OffsetRules::k136));
  EXPECT_EQ(last_index_of(text, kEuro), 3);
  EXPECT_EQ(last_index_of(text, ""), 4);
  EXPECT_EQ(last_index_of("", "@@"), -1);
  EXPECT_EQ(*last_index_of(text, kEuro, 2, OffsetRules::k136), 1);
  EXPECT_EQ(*last_index_of("bananananana", "nana", 7, OffsetRules::k136), 6);
  EXPECT_EQ(*last_index_of("aba", "a", 30, OffsetRules::k136), -1);
}

// The slow search of every position is the oracle.
TEST(Text, SearchAgreesWithTryingEveryPosition) {
  const uint64_t seed = 7;
  SCOPED_TRACE(seed);
  SeededRandom random(seed);
  const auto make = [&](uint64_t length) {
    std::string s;
    for (uint64_t i = 0; i < length; ++i) s += static_cast<char>('a' + random.below(2));
    return s;
  };
  for (int i = 0; i < 3000; ++i) {
    const std::string text = make(random.below(20));
    const std::string needle = make(1 + random.below(4));
    const auto from = static_cast<int64_t>(random.below(20));
    int64_t first = -1;
    int64_t last = -1;
    for (size_t at = 0; at + needle.size() <= text.size(); ++at) {
      if (text.compare(at, needle.size(), needle) != 0) continue;
      const auto here = static_cast<int64_t>(at);
      if (first < 0 && here >= from) first = here;
      if (here <= from) last = here;
    }
    if (from >= static_cast<int64_t>(text.size())) last = -1;
    ASSERT_EQ(*index_of(text, needle, from, OffsetRules::k136), first) << text << " " << needle << " " << from;
    ASSERT_EQ(*last_index_of(text, needle, from, OffsetRules::k136), last) << text << " " << needle << " " << from;
  }
}

TEST(Text, ReplaceSplitJoin) {
  Arena arena;
  EXPECT_EQ(replaced("{0} days {0} hours", "{0}", "2"), "2 days 2 hours");
  EXPECT_EQ(replaced("{0} days {0} hours", "{0}", "2", 1), "2 days {0} hours");
  EXPECT_EQ(replaced("abc", "", "-"), "-a-b-c-");
  EXPECT_EQ(replaced("abc", "", "-", 2), "-a-bc");
  EXPECT_EQ(replaced(kEuro + "x", "", "-"), "-" + kEuro + "-x-");
  EXPECT_EQ(replaced("abc", "b", "", 0), "abc");
  EXPECT_EQ(replaced("aaa", "a", ""), "");
  using Parts = std::vector<std::string_view>;
  EXPECT_EQ(parts_of("a,b,c", ","), (Parts{"a", "b", "c"}));
  EXPECT_EQ(parts_of("a,b,c", ",", 2), (Parts{"a", "b,c"}));
  EXPECT_EQ(parts_of("a,b,c", ",", 0), Parts{});
  EXPECT_EQ(parts_of("a,b,c", ",", 1), Parts{"a,b,c"});
  EXPECT_EQ(parts_of("", ","), Parts{""});
  EXPECT_EQ(parts_of("a" + kEuro, ""), (Parts{"a", kEuro}));
  EXPECT_EQ(parts_of("abc", "", 2), (Parts{"a", "bc"}));
  EXPECT_EQ(parts_of("", ""), Parts{});
  EXPECT_EQ(*join(arena, {kLimit}, {"x", "y"}, "-"), "x-y");
  EXPECT_EQ(*join(arena, {kLimit}, {}, "-"), "");
}

TEST(Text, GrowthIsRefusedNotDone) {
  Arena arena;
  const std::string text(1000, 'a');
  Budget budget{100'000};
  EXPECT_EQ(replace(arena, budget, text, "a", text).error().category, RuntimeCategory::kSizeLimit);
  EXPECT_EQ(replace(arena, budget, text, "", text).error().category, RuntimeCategory::kSizeLimit);
  EXPECT_EQ(join(arena, {100}, {text}, "").error().category, RuntimeCategory::kSizeLimit);
  EXPECT_LT(arena.used(), 100'000U);
}

TEST(Text, PiecesTakeSteps) {
  Arena arena;
  const std::string text(1000, 'a');
  Budget few{kLimit, 100};
  EXPECT_EQ(split(few, text, "").error().category, RuntimeCategory::kSizeLimit);
  EXPECT_EQ(few.steps, 0U);
  few.steps = 100;
  EXPECT_EQ(split(few, text, "a").error().category, RuntimeCategory::kSizeLimit);
  few.steps = 100;
  EXPECT_EQ(replace(arena, few, text, "a", "b").error().category, RuntimeCategory::kSizeLimit);
  few.steps = 100;
  EXPECT_EQ(replace(arena, few, text, "", "b").error().category, RuntimeCategory::kSizeLimit);
  few.steps = 100;
  EXPECT_EQ(*replace(arena, few, text, "b", "c"), text);
  EXPECT_EQ(few.steps, 100U);
}

TEST(Text, TrimQuoteCase) {
  Arena arena;
  EXPECT_EQ(trim(" \t\n\v\f\r\xC2\x85\xC2\xA0\xE3\x80\x80text\xE2\x80\x8A "), "text");
  EXPECT_EQ(trim("\xE2\x80\x8B"), "\xE2\x80\x8B");  // the zero-width space is not white space
  EXPECT_EQ(trim("  "), "");
  EXPECT_EQ(*quote(arena, {kLimit}, "a\n\"\\\a\xff"), "\"a\\n\\\"\\\\\\a\xEF\xBF\xBD\"");
  EXPECT_EQ(lower_ascii(arena, "TacoC\xC3\x86t"), "tacoc\xC3\x86t");
  EXPECT_EQ(upper_ascii(arena, "taco"), "TACO");
}

TEST(Text, HostileSearchesAreLinear) {
  const auto start = std::chrono::steady_clock::now();
  const std::string text(1 << 20, 'a');
  const std::string needle = std::string(1 << 19, 'a') + "b";
  EXPECT_EQ(index_of(text, needle), -1);
  EXPECT_EQ(last_index_of(text, "b" + std::string(1 << 19, 'a')), -1);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(30));
}

}  // namespace dra::cel::lib::text_test
