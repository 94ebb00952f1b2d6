// The arithmetic of the ledger by itself: cards, labels, bounds, and what a new leader goes on from.
#include "pkg/usage/ledger.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "pkg/base/random.h"

namespace dra::usage::ledger_test {

constexpr int64_t kS = Ledger::kSecond;

Use use_of(const std::string& ns, std::vector<Part> parts, const std::string& device_class = "gpu") {
  Use use;
  use.labels = {ns, device_class, "gpu.example.com", "Job"};
  use.devices = static_cast<int64_t>(parts.size());
  use.parts = std::move(parts);
  return use;
}

std::vector<Use> whole(const std::string& ns, const std::string& card) {
  return {use_of(ns, {{card, kWholeCard}})};
}

const GroupTotal* find(const Record& record, const std::string& ns) {
  const auto found = std::find_if(record.groups.begin(), record.groups.end(),
                                  [&](const GroupTotal& one) { return one.labels.ns == ns; });
  return found == record.groups.end() ? nullptr : &*found;
}

double cards(const Record& record, const std::string& ns) {
  const GroupTotal* found = find(record, ns);
  return found == nullptr ? -1 : found->card_seconds;
}

Ledger begun(int64_t at = 0) {
  Ledger ledger(at);
  ledger.settle_absent(at);
  return ledger;
}

TEST(Ledger, CountsFromAllocationToRelease) {
  Ledger ledger = begun();
  ledger.hold("1", whole("a", "x"), 10 * kS, 12 * kS);  // seen late
  EXPECT_DOUBLE_EQ(cards(ledger.record(12 * kS), "a"), 2);
  ledger.hold("2", {use_of("a", {{"y", kWholeCard / 4}, {"z", kWholeCard / 4}})}, 20 * kS, 20 * kS);
  ledger.release("1", 30 * kS);
  const Record record = ledger.record(40 * kS);
  EXPECT_DOUBLE_EQ(cards(record, "a"), 20 + 10);
  EXPECT_DOUBLE_EQ(find(record, "a")->device_seconds, 20 + 40);
  EXPECT_EQ(find(record, "a")->devices, 2);
  EXPECT_EQ(find(record, "a")->cards, kWholeCard / 2);
  ledger.release("2", 40 * kS);
  ledger.release("2", 40 * kS);
  ledger.release("no-such", 40 * kS);
  EXPECT_EQ(find(ledger.record(50 * kS), "a")->devices, 0);
}

TEST(Ledger, AClaimCountsNeitherBeforeTheLedgerNorFromTheFuture) {
  Ledger ledger = begun(100 * kS);
  ledger.hold("old", whole("a", "x"), -5'000'000 * kS, 100 * kS);
  ledger.hold("future", whole("b", "y"), 5'000'000 * kS, 100 * kS);
  const Record record = ledger.record(110 * kS);
  EXPECT_DOUBLE_EQ(cards(record, "a"), 10);
  EXPECT_DOUBLE_EQ(cards(record, "b"), 10);
  EXPECT_DOUBLE_EQ(cards(ledger.record(50 * kS), "a"), 10) << "time never goes back";
}

TEST(Ledger, AllPartsOfACardTogetherAreAtMostOne) {
  Ledger ledger = begun();
  for (int i = 0; i < 4; ++i) ledger.hold(std::to_string(i), whole("ns" + std::to_string(i), "x"), 0, 0);
  Record record = ledger.record(100 * kS);
  for (int i = 0; i < 4; ++i) EXPECT_DOUBLE_EQ(cards(record, "ns" + std::to_string(i)), 25);
  for (int i = 0; i < 3; ++i) ledger.release(std::to_string(i), 100 * kS);
  record = ledger.record(200 * kS);
  EXPECT_DOUBLE_EQ(cards(record, "ns3"), 125);
  EXPECT_DOUBLE_EQ(cards(record, "ns0"), 25);
  // Seen late, on a card that was full: the time before it was seen is taken already.
  ledger.hold("late", whole("late", "x"), 150 * kS, 200 * kS);
  EXPECT_DOUBLE_EQ(cards(ledger.record(200 * kS), "late"), 0);
}

TEST(Ledger, UnknownDevicesCountAsTheOthersOfTheirGroupDo) {
  Ledger ledger = begun();
  ledger.hold("1", {use_of("a", {{"x", kWholeCard / 8}})}, 0, 0);
  Use gone = use_of("a", {});
  gone.devices = 1;
  gone.unknown = {{"gone", kWholeCard}};
  ledger.hold("2", {gone}, 0, 0);
  EXPECT_DOUBLE_EQ(cards(ledger.record(80 * kS), "a"), 20);
  gone.labels.ns = "b";
  gone.unknown[0].card = "gone-too";
  ledger.hold("3", {gone}, 80 * kS, 80 * kS);
  EXPECT_DOUBLE_EQ(cards(ledger.record(90 * kS), "b"), 10) << "nothing to go by: a card";
}

Record written(Ledger& ledger, int64_t at) {
  const Result<std::string> text = to_text(ledger.record(at));
  EXPECT_TRUE(text);
  const Result<Record> read = parse_record(*text);
  EXPECT_TRUE(read) << read.error().message();
  return *read;
}

TEST(Ledger, ANewLeaderGoesOnFromWhatWasWritten) {
  Ledger first = begun();
  first.hold("stays", whole("a", "x"), 0, 0);
  first.hold("ends", whole("b", "y"), 0, 0);
  const Record record = written(first, 60 * kS);
  Ledger second(90 * kS);
  second.restore(record, 60 * kS);
  // "ends" ended at some time after 60; "starts" began at 80. Seen at 90.
  second.hold("stays", whole("a", "x"), 0, 90 * kS);
  second.hold("starts", whole("c", "y"), 80 * kS, 90 * kS);
  second.settle_absent(90 * kS);
  Record now = second.record(90 * kS);
  EXPECT_DOUBLE_EQ(cards(now, "a"), 90);
  EXPECT_DOUBLE_EQ(cards(now, "b"), 90) << "until its absence was seen";
  EXPECT_DOUBLE_EQ(cards(now, "c"), 10);
  now = second.record(100 * kS);
  EXPECT_DOUBLE_EQ(cards(now, "a"), 100);
  EXPECT_DOUBLE_EQ(cards(now, "b"), 90);
  EXPECT_DOUBLE_EQ(cards(now, "c"), 20);
}

TEST(Ledger, WhatEndedUnseenCountsTenMinutesAtMost) {
  Ledger first = begun();
  first.hold("ends", whole("a", "x"), 0, 0);
  first.hold("stays", whole("b", "y"), 0, 0);
  const Record record = written(first, 0);
  Ledger second(0);
  const int64_t later = 3 * 24 * 3600 * kS;
  second.restore(record, 0);
  second.hold("stays", whole("b", "y"), 0, later);
  second.settle_absent(later);
  EXPECT_DOUBLE_EQ(cards(second.record(later), "a"), 600);
  EXPECT_DOUBLE_EQ(cards(second.record(later), "b"), 3 * 24 * 3600);
}

TEST(Ledger, AClaimThatEndsWhileTheNewLeaderStillReadsCountsUntilThen) {
  Ledger first = begun();
  first.hold("1", whole("a", "x"), 0, 0);
  const Record record = written(first, 10 * kS);
  Ledger second(20 * kS);
  second.restore(record, 10 * kS);
  second.hold("1", whole("a", "x"), 0, 20 * kS);
  second.release("1", 21 * kS);
  second.hold("2", whole("b", "x"), 15 * kS, 22 * kS);
  second.release("2", 23 * kS);
  second.settle_absent(25 * kS);
  EXPECT_DOUBLE_EQ(cards(second.record(25 * kS), "a"), 21);
  EXPECT_DOUBLE_EQ(cards(second.record(25 * kS), "b"), 8);
}

TEST(Ledger, ANamespaceKeepsItsLabelUntilItWasIdleForADay) {
  Ledger ledger = begun();
  for (size_t i = 0; i < Ledger::kMaxNamespaces; ++i)
    ledger.hold(std::to_string(i), whole("ns" + std::to_string(i), std::to_string(i)), 0, 0);
  ledger.hold("late", whole("late", "late"), 0, 0);
  EXPECT_EQ(find(ledger.record(kS), "late"), nullptr);
  EXPECT_DOUBLE_EQ(cards(ledger.record(kS), "other"), 1);
  ledger.release("7", kS);
  ledger.release("late", kS);
  const int64_t day = 24 * 3600 * kS;
  ledger.hold("again", whole("late", "late"), day, day);
  EXPECT_NE(find(ledger.record(day), "ns7"), nullptr) << "idle, but not for a day";
  EXPECT_EQ(find(ledger.record(day + kS), "ns7"), nullptr);
  ledger.hold("late-2", whole("late", "late-2"), day + kS, day + kS);
  const Record record = ledger.record(day + 11 * kS);
  EXPECT_DOUBLE_EQ(cards(record, "late"), 10) << "the label is free now";
  EXPECT_DOUBLE_EQ(cards(record, "other"), 1 + 11) << "what began under other stays there";
}

// The words: cardinality bounded under 10,000 namespaces.
TEST(Ledger, TenThousandNamespacesStayWithinTheBounds) {
  Ledger ledger = begun();
  SeededRandom random(7);
  int64_t now = 0;
  for (int i = 0; i < 10'000; ++i) {
    const std::string text = std::to_string(i);
    std::vector<Use> uses;
    for (int k = 0; k < 3; ++k) {
      Use use = use_of("namespace-" + text, {{"card-" + text + "-" + std::to_string(k), kWholeCard}},
                       "class-" + std::to_string(random.below(400)));
      use.labels.driver = "driver-" + std::to_string(random.below(60));
      use.labels.owner = std::string(random.below(50) == 0 ? 5'000 : 5, 'k') + std::to_string(random.below(300));
      for (int s = 0; s < 8; ++s) use.shares.push_back({"share-" + std::to_string(random.below(500)), kWholeCard / 2});
      uses.push_back(std::move(use));
    }
    ledger.hold(text, uses, now, now);
    if (i % 3 == 0) ledger.release(std::to_string(i / 2), now + 30 * kS);
    now += 60 * kS;
    if (i % 500 != 0) continue;
    ASSERT_LE(ledger.series(), 3'000u);
    const Record record = ledger.record(now);
    std::set<std::string> namespaces, classes, drivers, owners, names;
    size_t series = 0;
    for (const GroupTotal& group : record.groups) {
      namespaces.insert(group.labels.ns);
      classes.insert(group.labels.device_class);
      drivers.insert(group.labels.driver);
      owners.insert(group.labels.owner);
      series += Ledger::kSeriesOfGroup + group.shares.size();
      for (const ShareTotal& share : group.shares) names.insert(share.name);
    }
    ASSERT_EQ(series, ledger.series());
    ASSERT_LE(namespaces.size(), 201u);
    ASSERT_LE(classes.size(), 51u);
    ASSERT_LE(drivers.size(), 17u);
    ASSERT_LE(owners.size(), 21u);
    ASSERT_LE(names.size(), 65u);
    ASSERT_TRUE(to_text(record));
  }
  EXPECT_GT(ledger.series(), 2'500u) << "the test reaches the bounds";
}

TEST(Ledger, TheLargestRecordFitsIntoItsObject) {
  Ledger ledger = begun();
  const std::string longest(Ledger::kMaxLabelBytes - 4, '"');
  int64_t now = 0;
  for (int i = 0; i < 4'000; ++i) {
    const auto number = [&](uint64_t below) { return std::to_string(1000 + static_cast<uint64_t>(i) % below); };
    Use use = use_of(std::string(59, 'n') + number(200), {{std::to_string(i), kWholeCard}}, longest + number(50));
    use.labels.driver = longest + number(16);
    use.labels.owner = longest + number(20);
    for (int s = 0; s < (i % 40 == 0 ? 60 : 1); ++s)
      use.shares.push_back({longest + std::to_string(1000 + s), 999'999'999});
    ledger.hold(std::to_string(i), {use}, now, now);
  }
  now += int64_t{20} * 365 * 24 * 3600 * kS;
  const Record record = ledger.record(now);
  EXPECT_GT(record.groups.size(), 250u);
  const Result<std::string> text = to_text(record);
  ASSERT_TRUE(text) << text.error().message();
  EXPECT_LE(text->size(), kMaxRecordBytes);
  RecordProperty("bytes", static_cast<int>(text->size()));
  ASSERT_TRUE(parse_record(*text));
}

}  // namespace dra::usage::ledger_test
