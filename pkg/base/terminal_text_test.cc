#include "pkg/base/terminal_text.h"

#include <gtest/gtest.h>

#include "pkg/base/random.h"
#include "pkg/base/utf8.h"

namespace dra {
namespace terminal_text_test {

TEST(TerminalText, SpellsOutWhatATerminalWouldObey) {
  EXPECT_EQ(visible_text("plain-name_1"), "plain-name_1");
  EXPECT_EQ(visible_text("a\x1b[2J\x07\x7f\tb"), "a\\x1b[2J\\x07\\x7f\\x09b");
  EXPECT_EQ(visible_text(std::string_view("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(visible_text("csi \xc2\x9b"
                         "2J"),
            "csi \\u009b2J");
  EXPECT_EQ(visible_text("\xe2\x80\xae"
                         "gnp\xe2\x81\xa6"),
            "\\u202egnp\\u2066");
  EXPECT_EQ(visible_text("\xe2\x80\xa8"), "\\u2028");
  EXPECT_EQ(visible_text("two\nlines"), "two\nlines");
  EXPECT_EQ(visible_text("\x9b"
                         "31m \xc3"),
            "\\x9b31m \\xc3")
      << "bytes that are not UTF-8, one of which is CSI in Latin-1";
  EXPECT_EQ(visible_text("gr\xc3\xbc\xc3\x9f \xe6\xbc\xa2"), "gr\xc3\xbc\xc3\x9f \xe6\xbc\xa2");
}

TEST(TerminalText, CountsColumns) {
  EXPECT_EQ(columns_of(""), 0U);
  EXPECT_EQ(columns_of("abc"), 3U);
  EXPECT_EQ(columns_of("\xe6\xbc\xa2\xe5\xad\x97"), 4U);  // two Han characters
  EXPECT_EQ(columns_of("e\xcc\x81"), 1U);                 // e and a combining acute
  EXPECT_EQ(columns_of("\xf0\x9f\x9a\x80"), 2U);          // a rocket
  EXPECT_EQ(columns_of("\xef\xbc\xa1"), 2U);              // fullwidth A
  EXPECT_EQ(columns_of("\xed\x95\x9c"), 2U);              // a Hangul syllable
  EXPECT_EQ(columns_of("\xe2\x80\x8b"), 0U);              // zero width space
  EXPECT_EQ(columns_of("\xd9\x85"), 1U);                  // Arabic
  EXPECT_EQ(columns_of("\xff"), 1U);
}

TEST(TerminalText, CutsBetweenCharacters) {
  EXPECT_EQ(cut_to_columns("abcdef", 6), "abcdef");
  EXPECT_EQ(cut_to_columns("abcdef", 5), "abcd~");
  EXPECT_EQ(cut_to_columns("abcdef", 1), "~");
  EXPECT_EQ(cut_to_columns("abcdef", 0), "");
  EXPECT_EQ(cut_to_columns("", 0), "");
  const std::string han = "\xe6\xbc\xa2\xe5\xad\x97\xe6\xbc\xa2";
  EXPECT_EQ(cut_to_columns(han, 6), han);
  EXPECT_EQ(cut_to_columns(han, 5), han.substr(0, 6) + "~");
  EXPECT_EQ(cut_to_columns(han, 4), han.substr(0, 3) + "~") << "half a character is no character";
  EXPECT_EQ(cut_to_columns(han, 1), "~");
  std::string marks = "e";
  for (int i = 0; i < 30000; ++i) marks += "\xcc\x81";
  EXPECT_EQ(cut_to_columns(marks, 3).size(), 9U);
}

// Any bytes: what is made visible has no control character, is UTF-8, and keeps to its columns however it is cut.
TEST(TerminalText, RandomBytesKeepToTheirColumns) {
  SeededRandom random(20261128);
  const std::string pieces[] = {"a",        "\x1b[",        "\xc2\x9b",    "\xe6\xbc\xa2",
                                "\xcc\x81", "\xe2\x80\xae", "\xff",        "\xf0\x9f\x9a\x80",
                                "\n",       "\x7f",         "\xe2\x80\x8d"};
  for (int round = 0; round < 2000; ++round) {
    std::string text;
    for (uint64_t i = random.below(30); i > 0; --i)
      text += random.below(4) == 0 ? std::string(1, static_cast<char>(random.below(256)))
                                   : pieces[random.below(std::size(pieces))];
    const std::string visible = visible_text(text);
    ASSERT_TRUE(is_valid_utf8(visible)) << round;
    for (const char c : visible)
      ASSERT_TRUE(c == '\n' || (static_cast<unsigned char>(c) >= 0x20 && c != 0x7f)) << round;
    ASSERT_EQ(visible.find("\xc2\x9b"), std::string::npos) << round;
    ASSERT_EQ(visible_text(visible), visible) << round;
    for (size_t width = 0; width <= columns_of(visible) + 1; ++width) {
      const std::string cut = cut_to_columns(visible, width);
      ASSERT_LE(columns_of(cut), width) << round;
      ASSERT_TRUE(is_valid_utf8(cut)) << round;
      ASSERT_LE(cut.size(), 20 * width + 20) << round;
      const size_t whole = columns_of(visible);
      ASSERT_EQ(columns_of(without_columns(visible, width)), whole > width ? whole - width : 0) << round;
    }
  }
}

}  // namespace terminal_text_test
}  // namespace dra
