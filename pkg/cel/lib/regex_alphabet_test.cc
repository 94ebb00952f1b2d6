// The oracle of reduced alphabets is RE2 itself: where it can compile a pattern as it is, both must find the same.
#include "pkg/cel/lib/regex_alphabet.h"

#include <gtest/gtest.h>
#include <re2/re2.h>

#include <random>
#include <string>
#include <vector>

#include "pkg/cel/lib/regex.h"

namespace dra::cel::lib::regex_alphabet_test {

using Words = std::vector<std::string>;

const Words kAtoms = {"a",
                      "k",
                      "S",
                      "-",
                      "\\.",
                      ".",
                      "\xC3\xA9",
                      "\xCE\xA9",
                      "\xE2\x84\xAA",
                      "\\pL",
                      "\\p{N}",
                      "\\P{Lu}",
                      "\\p{Greek}",
                      "\\w",
                      "\\W",
                      "\\d",
                      "\\S",
                      "\\b",
                      "[a-z]",
                      "[^a-z]",
                      "[^k]",
                      "[\\p{L}\\p{N}_-]",
                      "[^\\p{L}\\s]",
                      "[\\w\xC3\xA9]",
                      "[[:alpha:]]",
                      "[^[:^digit:]]",
                      "[\xC3\xA0-\xC3\xBF]",
                      "^",
                      "$"};
const Words kRepetitions = {"", "", "", "*", "+", "?", "{2}", "{1,3}", "*?", "{0,2}"};
const Words kGroups = {"(", "(?:", "(?i:", "(?i)(", "(?-i:", "(?s:", "(?P<n>", "(?i-s:"};
const Words kLetters = {"a",
                        "B",
                        "k",
                        "K",
                        "s",
                        "5",
                        "-",
                        ".",
                        " ",
                        "\n",
                        "_",
                        "\xC3\xA9",
                        "\xC3\x89",
                        "\xCE\xA9",
                        "\xCF\x89",
                        "\xE2\x84\xAA",
                        "\xC5\xBF",
                        "\xC2\xB5",
                        "\xE4\xB8\xAD",
                        "\xF0\x9F\x98\x80",
                        "\xD9\xA3",
                        "\xEF\xBF\xBD"};

class Generator {
 public:
  explicit Generator(unsigned seed) : random_(seed) {}

  std::string pattern(int depth) {
    std::string out;
    for (int i = 0, n = 1 + number(3); i < n; ++i) {
      if (depth > 0 && number(4) == 0) {
        const std::string group = pick(kGroups);
        // A name may be used once.
        out += group == "(?P<n>" ? "(?P<n" + std::to_string(names_++) + ">" : group;
        out += pattern(depth - 1) + (number(3) == 0 ? "|" + pattern(depth - 1) : "") + ")";
      } else {
        out += pick(kAtoms);
        if (out.back() == 'b' || out.back() == '^' || out.back() == '$') continue;  // nothing to repeat
      }
      out += pick(kRepetitions);
    }
    return out;
  }

  std::string text() {
    std::string out;
    for (int i = 0, n = number(9); i < n; ++i) out += pick(kLetters);
    return out;
  }

 private:
  int number(int limit) { return static_cast<int>(random_() % static_cast<unsigned>(limit)); }
  const std::string& pick(const Words& words) {
    return words[static_cast<size_t>(number(static_cast<int>(words.size())))];
  }

  std::mt19937 random_;
  int names_ = 0;
};

std::string first_match(const re2::RE2& re, const std::string& text) {
  re2::StringPiece match;
  if (!re.Match(text, 0, text.size(), re2::RE2::UNANCHORED, &match, 1)) return "none";
  return std::to_string(match.data() - text.data()) + "+" + std::to_string(match.size());
}

std::string first_match(const re2::RE2& re, const ReducedAlphabet& alphabet, const std::string& text) {
  std::vector<uint32_t> offsets;
  const std::string letters = alphabet.encode(text, &offsets);
  re2::StringPiece match;
  if (!re.Match(letters, 0, letters.size(), re2::RE2::UNANCHORED, &match, 1)) return "none";
  const auto begin = static_cast<size_t>(match.data() - letters.data());
  return std::to_string(offsets[begin]) + "+" + std::to_string(offsets[begin + match.size()] - offsets[begin]);
}

TEST(ReducedAlphabet, FindsWhatThePatternFinds) {
  const unsigned seed = 20'240'511;
  Generator generator(seed);
  re2::RE2::Options quiet;
  quiet.set_log_errors(false);
  re2::RE2::Options bytes = quiet;
  bytes.set_encoding(re2::RE2::Options::EncodingLatin1);
  int compared = 0;
  for (int i = 0; i < 600; ++i) {
    const std::string pattern = generator.pattern(2);
    const re2::RE2 direct(pattern, quiet);
    const auto alphabet = ReducedAlphabet::reduce(pattern);
    if (!direct.ok() || !alphabet) continue;
    const re2::RE2 reduced(alphabet->pattern(), bytes);
    ASSERT_TRUE(reduced.ok()) << pattern << " became " << alphabet->pattern() << ": " << reduced.error();
    for (int k = 0; k < 12; ++k, ++compared) {
      const std::string text = generator.text();
      ASSERT_EQ(first_match(reduced, *alphabet, text), first_match(direct, text))
          << "seed " << seed << " pattern " << pattern << " became " << alphabet->pattern() << " text " << text;
    }
  }
  EXPECT_GT(compared, 3'000);
}

TEST(ReducedAlphabet, LeavesWhatItDoesNotUnderstand) {
  for (const char* pattern : {"\\x{e9}", "\\Qa\\E", "\\1", "a\\", "(?<n", "\\p{L", "\\p", "[\\p{Nope}]", "(?z)a",
                              "\xC3\xA0\xC3\xA1\xC3\xA2\xC3\xA3\xC3\xA4\xC3\xA5\xC3\xA6"})
    EXPECT_FALSE(ReducedAlphabet::reduce(pattern)) << pattern;
}

TEST(ReducedAlphabet, LargeClassesManyTimes) {
  for (const char* pattern : {"[\\p{L}\\p{N}_-]{1,63}", "^[\\p{L}\\p{N}_.-]{1,253}$", "^\\p{L}[\\p{L}\\p{N}_-]{0,62}$",
                              "\\p{L}{1,100}", "(?i)^[\\p{L}]{1,63}$", "^\\pL{1000}", ".{1,1000}"})
    EXPECT_TRUE(Regex::compile(pattern)) << pattern;
  const auto names = *Regex::compile("^[\\p{L}\\p{N}_-]{1,63}$");
  EXPECT_LT(names->size(), 4000U);
  EXPECT_TRUE(names->matches("\xC3\xA9t\xC3\xA9_5-\xE4\xB8\xAD"));
  EXPECT_FALSE(names->matches("a\xF0\x9F\x98\x80"));
  EXPECT_FALSE(names->matches("a\xFF"));
  EXPECT_FALSE(names->matches(""));
  EXPECT_TRUE(names->matches(std::string(63, 'x')));
  EXPECT_FALSE(names->matches(std::string(64, 'x')));
  const auto words = *Regex::compile("\\p{L}{1,100}");
  EXPECT_EQ(words->find("5 \xC3\xA9t\xC3\xA9 b"), "\xC3\xA9t\xC3\xA9");
  EXPECT_EQ(words->find("5"), "");
  const std::vector<std::string_view> all = {"\xC3\xA9t\xC3\xA9", "b"};
  EXPECT_EQ(*words->find_all("5 \xC3\xA9t\xC3\xA9 b"), all);
}

}  // namespace dra::cel::lib::regex_alphabet_test
