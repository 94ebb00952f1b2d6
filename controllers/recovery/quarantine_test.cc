// What a namespace alone cannot do, that everything ends, and that it is bounded.
#include "controllers/recovery/quarantine.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "pkg/protocol/avoided.h"

namespace dra::recovery::quarantine_test {
namespace {

using inventory::DeviceName;
using protocol::kAvoidDevice;
using namespace std::chrono_literals;

DeviceName device(int number, const std::string& driver = "drv") {
  return {driver, "n1", "gpu-" + std::to_string(number)};
}

TEST(Quarantine, TwoNamespacesOrAReportButNotOneNamespaceByEvents) {
  Quarantine quarantine;
  const Timestamp start = Timestamp::at(1'700'000'000);
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(quarantine.failed({device(0)}, "a", false, start).empty());
  EXPECT_EQ(quarantine.text(start), "");
  EXPECT_EQ(quarantine.failed({device(0)}, "b", false, start).size(), 1u);
  EXPECT_EQ(protocol::avoided_in(quarantine.text(start), start).size(), 1u);
  EXPECT_TRUE(quarantine.failed({device(0)}, "c", false, start).empty()) << "it is there";
  EXPECT_EQ(quarantine.failed({device(1)}, "c", true, start).size(), 1u) << "its driver says so";
  EXPECT_EQ(quarantine.text(start + kAvoidDevice), "") << "it ends";
}

TEST(Quarantine, EachNamespaceHasOneDeviceOfADriverThere) {
  Quarantine quarantine;
  const Timestamp start = Timestamp::at(1'700'000'000);
  EXPECT_EQ(quarantine.failed({device(0), device(1)}, "a", true, start).size(), 1u);
  EXPECT_EQ(quarantine.failed({device(0, "other")}, "a", true, start).size(), 1u);
  EXPECT_TRUE(quarantine.failed({device(2)}, "b", false, start).empty());
  EXPECT_TRUE(quarantine.failed({device(2)}, "a", false, start).empty()) << "a has one of drv";
  EXPECT_EQ(quarantine.failed({device(2)}, "c", false, start).size(), 1u) << "b and c have none";
  EXPECT_EQ(quarantine.failed({device(3)}, "a", true, start + kAvoidDevice).size(), 1u) << "the first is back";
}

TEST(Quarantine, AFailureIsForgottenAfterHalfAnHour) {
  Quarantine quarantine;
  const Timestamp start = Timestamp::at(1'700'000'000);
  quarantine.failed({device(0)}, "a", false, start);
  EXPECT_TRUE(quarantine.failed({device(0)}, "b", false, start + kAvoidDevice).empty());
}

// Whatever is reported: never more than the limit, never two of a driver by one namespace, never by one namespace's
// events alone, never longer than meant.
TEST(Quarantine, HoldsItsBoundsWhateverHappens) {
  std::mt19937 random(1);
  Quarantine quarantine;
  Timestamp now = Timestamp::at(1'700'000'000);
  std::map<std::string, std::set<std::string>> failed_for;  // device: namespaces, ever
  std::set<std::string> reported_ever;
  size_t most = 0;
  for (int step = 0; step < 20'000; ++step) {
    now = now + Duration(std::chrono::seconds(random() % 20));
    const DeviceName name = device(static_cast<int>(random() % 40), "drv" + std::to_string(random() % 6));
    const std::string ns = "ns" + std::to_string(random() % 30);
    const bool reported = random() % 8 == 0;
    failed_for[name.text()].insert(ns);
    if (reported) reported_ever.insert(name.text());
    for (const DeviceName& fresh : quarantine.failed({name}, ns, reported, now))
      EXPECT_TRUE(reported_ever.contains(fresh.text()) || failed_for[fresh.text()].size() > 1);
    const auto kept = protocol::avoided_in(quarantine.text(now), now);
    most = std::max(most, kept.size());
    ASSERT_LE(kept.size(), kMostQuarantined);
    for (const auto& one : kept) ASSERT_LE(one.until, now + kAvoidDevice);
  }
  EXPECT_EQ(most, kMostQuarantined) << "the limit was met";
  EXPECT_EQ(quarantine.text(now + kAvoidDevice), "");
}

}  // namespace
TEST(Quarantine, WhatIsReleasedByHandBeginsAnew) {
  Quarantine quarantine;
  const Timestamp start = Timestamp::at(1'700'000'000);
  ASSERT_EQ(quarantine.failed({device(0)}, "a", true, start).size(), 1u);
  quarantine.release({{device(0), start + kAvoidDevice + std::chrono::seconds(1)}});
  EXPECT_NE(quarantine.text(start), "") << "another time of it";
  quarantine.release({{device(0), start + kAvoidDevice}});
  EXPECT_EQ(quarantine.text(start), "");
  EXPECT_TRUE(quarantine.failed({device(0)}, "a", false, start).empty()) << "one namespace alone";
  EXPECT_EQ(quarantine.failed({device(0)}, "b", false, start).size(), 1u);
}

}  // namespace dra::recovery::quarantine_test
