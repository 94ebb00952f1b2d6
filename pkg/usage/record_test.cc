// The text of the totals: read as it was written, and refused by the name of the field that is wrong.
#include "pkg/usage/record.h"

#include <gtest/gtest.h>

#include "pkg/base/random.h"
#include "pkg/usage/ledger.h"
#include "test/support/environment.h"

namespace dra::usage::record_test {

Record some_record() {
  Record record;
  record.as_of = Timestamp::at(1'700'000'060, 5'000);
  record.since = Timestamp::at(1'700'000'000);
  record.writer = "host_\"\x01\n\xff";
  record.groups = {{{"a", "gpu", "d", "Job"}, 60, 30.5, 1, 500'000'000, 0, {{"memory", 12.125, 250'000'000}}},
                   {{"b", "gpu", "d", "none"}, 0, 0, 0, 0, 77, {}}};
  return record;
}

TEST(Record, IsReadAsItWasWritten) {
  const Record record = some_record();
  const Result<std::string> text = to_text(record);
  ASSERT_TRUE(text);
  const Result<Record> read = parse_record(*text);
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(read->as_of, record.as_of);
  EXPECT_EQ(read->since, record.since);
  EXPECT_EQ(read->groups, record.groups);
  EXPECT_EQ(read->writer.substr(0, 8), "host_\"\x01\n");
}

std::string why_not(const std::string& from, const std::string& to) {
  std::string text = *to_text(some_record());
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  text.replace(at, from.size(), to);
  const Result<Record> read = parse_record(text);
  return read ? "read" : read.error().message();
}

TEST(Record, NamesTheFieldThatIsWrong) {
  EXPECT_EQ(why_not("\"version\":1", "\"version\":2"),
            "version is not 1, which is all that this version of the program reads");
  EXPECT_EQ(why_not("\"asOf\":\"2023", "\"asOf\":\"20x3"), "asOf is not a time in RFC 3339");
  EXPECT_EQ(why_not("\"namespaces\":[\"a\"", "\"namespaces\":[7"), "namespaces has an entry that is not a text");
  EXPECT_EQ(why_not("[0,0,0,0,60.000", "[9,0,0,0,60.000"),
            "groups[0] names a label by a number that its table has not");
  EXPECT_EQ(why_not("60.000", "-60.000"), "groups[0] has seconds that are not a number of 0 or more");
  EXPECT_EQ(why_not("60.000", "1e300"), "groups[0] has seconds that are not a number of 0 or more");
  EXPECT_EQ(why_not("500000000", "-5"), "groups[0] has a count that is not a whole number of 0 or more");
  EXPECT_EQ(why_not("250000000", "\"x\""),
            "groups[0] has a share that is not a list of name, seconds and what is held");
  EXPECT_EQ(parse_record("[]").error().message(), "the text is not a JSON object");
  EXPECT_EQ(parse_record("{").error().message(), "the text is not JSON");
  EXPECT_FALSE(parse_record(std::string(100'000, '[')));
  EXPECT_FALSE(parse_record(std::string(kMaxRecordBytes + 1, ' ')));
}

TEST(Record, AnyTextIsReadOrRefused) {
  const std::string good = *to_text(some_record());
  SeededRandom random(test::number_from("DRA_SEED", 1));
  for (int i = 0; i < 5'000; ++i) {
    std::string text = good;
    for (uint64_t edits = 1 + random.below(4); edits > 0; --edits) {
      const size_t at = random.below(text.size());
      constexpr std::string_view kPieces = "[]{},:\"0123456789.-eE\\ntu\x00\xff";
      if (random.below(3) == 0)
        text.erase(at, 1 + random.below(20));
      else
        text[at] = kPieces[random.below(kPieces.size())];
      if (text.empty()) text = "0";
    }
    const Result<Record> read = parse_record(text);
    if (!read) {
      EXPECT_FALSE(read.error().message().empty());
      continue;
    }
    Ledger ledger(0);
    ledger.restore(*read, 0);
    ledger.settle_absent(Ledger::kSecond);
    ASSERT_LE(ledger.series(), 3'000u);
  }
}

}  // namespace dra::usage::record_test
