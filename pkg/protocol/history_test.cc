// The annotation with the causes a pod waited for: bounded, and readable whatever somebody put there.
#include "pkg/protocol/history.h"

#include <gtest/gtest.h>

#include "pkg/base/random.h"
#include "pkg/protocol/pod_changes.h"
#include "pkg/protocol/writes.h"
#include "test/support/environment.h"

namespace dra::protocol::history_test {

const Timestamp kNow = Timestamp::at(1'700'000'000);

TEST(History, ACauseIsKeptWithTheTimeOfItsFirstWriting) {
  std::string value = history_with("", kNow, "3 nodes: all devices held");
  EXPECT_EQ(value, "2023-11-14T22:13:20Z 3 nodes: all devices held");
  EXPECT_EQ(history_with(value, kNow + std::chrono::seconds(60), "12 nodes: all devices held"), value)
      << "only numbers differ";
  value = history_with(value, kNow + std::chrono::seconds(60), "no node\nhas\x1b[31m cpu");
  EXPECT_EQ(value, "2023-11-14T22:13:20Z 3 nodes: all devices held\n2023-11-14T22:14:20Z no node has [31m cpu");
  const std::vector<HistoryEntry> read = read_history(value);
  ASSERT_EQ(read.size(), 2u);
  EXPECT_EQ(read[1].text, "no node has [31m cpu");
  EXPECT_EQ(read[1].time, kNow + std::chrono::seconds(60));
}

TEST(History, KeepsTheLastEight) {
  std::string value;
  const auto cause = [](int i) { return std::string(200, static_cast<char>('a' + i)); };
  for (int i = 0; i < 20; ++i) value = history_with(value, kNow + std::chrono::seconds(i), cause(i));
  EXPECT_LE(value.size(), kMaxHistoryBytes);
  const std::vector<HistoryEntry> read = read_history(value);
  ASSERT_EQ(read.size(), kMaxHistoryEntries);
  EXPECT_EQ(read.back().text.substr(0, 50), cause(19).substr(0, 50));
  EXPECT_EQ(read.front().text[0], 'a' + 12);
}

TEST(History, WhateverStandsThereIsBoundedAndReadable) {
  SeededRandom random(test::number_from("DRA_SEED", 1));
  for (int i = 0; i < 5'000; ++i) {
    std::string forged;
    for (uint64_t n = random.below(3'000); n > 0; --n) {
      constexpr std::string_view kPieces = "2023-11-14T22:13:20Z \n\xff\xe2\x80\xae\x1b<";
      forged +=
          random.below(9) == 0 ? "2023-11-14T22:13:20Z x\n" : std::string(1, kPieces[random.below(kPieces.size())]);
    }
    const std::string value = history_with(forged, kNow, std::string(random.below(300), 'c') + "\xf0\x9f");
    ASSERT_LE(value.size(), kMaxHistoryBytes);
    ASSERT_LE(read_history(value).size(), kMaxHistoryEntries);
    ASSERT_FALSE(read_history(value).empty());
    for (const char c : value) ASSERT_TRUE(static_cast<unsigned char>(c) >= 0x20 || c == '\n');
  }
}

TEST(History, AChangeOfItIsOneOfConditionsAlone) {
  api::Pod before, after;
  before.metadata.name = after.metadata.name = "p";
  after.conditions.push_back({.type = "x", .status = "False"});
  after.metadata.annotations[std::string(kHistoryAnnotation)] = "y";
  EXPECT_TRUE(is_only_of_conditions(before, after));
  EXPECT_TRUE(is_only_of_conditions(after, before));
  after.metadata.annotations["dra-controller-manager/group"] = "2";
  EXPECT_FALSE(is_only_of_conditions(before, after));
}

}  // namespace dra::protocol::history_test
