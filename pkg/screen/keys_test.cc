#include "pkg/screen/keys.h"

#include <gtest/gtest.h>

#include "pkg/base/random.h"

namespace dra::screen {
namespace keys_test {

std::string names(const std::vector<Key>& keys) {
  std::string out;
  for (const Key& key : keys) out += (out.empty() ? "" : " ") + std::to_string(static_cast<int>(key.code)) + key.text;
  return out;
}
std::string names(std::initializer_list<Key> keys) {
  return names(std::vector<Key>(keys));
}

TEST(Keys, AreReadFromBytes) {
  KeyReader reader;
  EXPECT_EQ(names(reader.feed("q/")), names({{KeyCode::kText, "q"}, {KeyCode::kText, "/"}}));
  EXPECT_EQ(names(reader.feed("\x1b[A\x1b[B\x1bOC\x1b[1;5D")),
            names({{KeyCode::kUp}, {KeyCode::kDown}, {KeyCode::kRight}, {KeyCode::kLeft}}));
  EXPECT_EQ(names(reader.feed("\x1b[5~\x1b[6~\x1b[H\x1b[4~\x1b[1~")),
            names({{KeyCode::kPageUp}, {KeyCode::kPageDown}, {KeyCode::kHome}, {KeyCode::kEnd}, {KeyCode::kHome}}));
  EXPECT_EQ(names(reader.feed("\r\n\t\x7f\x08\x03")), names({{KeyCode::kEnter},
                                                             {KeyCode::kEnter},
                                                             {KeyCode::kTab},
                                                             {KeyCode::kBackspace},
                                                             {KeyCode::kBackspace},
                                                             {KeyCode::kControl, "c"}}));
  EXPECT_EQ(names(reader.feed("\xe6\xbc\xa2\xff")), names({{KeyCode::kText, "\xe6\xbc\xa2"}, {KeyCode::kUnknown}}));
  EXPECT_EQ(names(reader.feed("\x1b[3~\x1b[200~")), names({{KeyCode::kUnknown}, {KeyCode::kUnknown}}));
  EXPECT_FALSE(reader.waits());
}

TEST(Keys, ComeInPieces) {
  KeyReader reader;
  EXPECT_EQ(names(reader.feed("\x1b")), "");
  EXPECT_TRUE(reader.waits());
  EXPECT_EQ(names(reader.feed("[")), "");
  EXPECT_EQ(names(reader.feed("B")), names({{KeyCode::kDown}}));
  EXPECT_EQ(names(reader.feed("\xe6\xbc")), "");
  EXPECT_EQ(names(reader.feed("\xa2")), names({{KeyCode::kText, "\xe6\xbc\xa2"}}));
}

TEST(Keys, ALoneEscapeIsAKeyWhenNothingFollows) {
  KeyReader reader;
  EXPECT_EQ(names(reader.feed("\x1b")), "");
  EXPECT_EQ(names(reader.rest()), names({{KeyCode::kEscape}}));
  EXPECT_EQ(names(reader.feed("\x1bq")), names({{KeyCode::kEscape}, {KeyCode::kText, "q"}}));
  EXPECT_EQ(names(reader.feed("\x1b\x1b[A")), names({{KeyCode::kEscape}, {KeyCode::kUp}}));
  EXPECT_EQ(names(reader.feed("\x1b[")), "");
  EXPECT_EQ(names(reader.rest()), names({{KeyCode::kEscape}, {KeyCode::kText, "["}}));
}

// However the bytes are cut, the keys are the same, and little is kept.
TEST(Keys, RandomBytes) {
  SeededRandom random(7);
  const std::string pieces[] = {
      "\x1b", "[", "A", "~", "1;5", "\x1b[B", "q", "\xe6\xbc\xa2", "\xe6", "\xff", "\r", "\x1bO", std::string(40, '1')};
  for (int round = 0; round < 3000; ++round) {
    std::string bytes;
    for (uint64_t i = random.below(12); i > 0; --i) bytes += pieces[random.below(std::size(pieces))];
    KeyReader whole, cut;
    std::vector<Key> expected = whole.feed(bytes), found;
    for (const Key& key : whole.rest()) expected.push_back(key);
    for (size_t at = 0; at < bytes.size(); ++at)
      for (const Key& key : cut.feed(bytes.substr(at, 1))) found.push_back(key);
    for (const Key& key : cut.rest()) found.push_back(key);
    // A sequence that is too long is dropped at another byte when it comes byte by byte.
    if (bytes.find(pieces[12]) == std::string::npos) {
      ASSERT_EQ(names(found), names(expected)) << round;
    }
    ASSERT_FALSE(whole.waits() || cut.waits()) << round;
  }
}

}  // namespace keys_test
}  // namespace dra::screen
