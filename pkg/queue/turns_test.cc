#include "pkg/queue/turns.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "pkg/base/random.h"

namespace dra::queue::turns_test {

using namespace std::chrono_literals;

class TurnsTest : public testing::Test {
 protected:
  std::string since(int number) {
    std::string text = std::to_string(number);
    return std::string(8 - text.size(), '0') + text;
  }
  // Everybody whose turn has come goes; returns when each key went, since the start.
  void go() {
    for (const std::string& key : turns.let_in()) {
      ASSERT_TRUE(turns.enter(key, "any", "")) << "the turn is reserved";
      ASSERT_TRUE(went.emplace(key, clock.mono_now() - began).second) << key << " went twice";
    }
  }
  void ask(const std::string& key, const std::string& ns, int number) {
    asked[key] = {ns, number};
    if (turns.enter(key, ns, since(number))) went.emplace(key, clock.mono_now() - began);
  }
  // Until nobody waits.
  void run() {
    while (const auto due = turns.next_due()) {
      ASSERT_LE(*due - clock.mono_now(), 1s);
      if (*due > clock.mono_now()) clock.advance(*due - clock.mono_now());
      const size_t before = went.size();
      go();
      ASSERT_GT(went.size(), before) << "woken for nothing";
    }
  }
  Duration last() const {
    Duration latest{};
    for (const auto& [key, at] : went) latest = std::max(latest, at);
    return latest;
  }
  // No window of a second, beyond the first, has more than these; and older keys of a namespace go first.
  void check_rates() {
    std::map<std::string, std::vector<Duration>> times;
    for (const auto& [key, at] : went)
      for (const std::string& whose : {std::string(), asked.at(key).first}) times[whose].push_back(at);
    for (auto& [whose, all] : times) {
      std::sort(all.begin(), all.end());
      // The burst, then the rate from then on: the bound of a token bucket, for each window.
      const double rate = whose.empty() ? 50 : 10;
      for (size_t i = 0; i < all.size(); i += 37)
        for (size_t j = i; j < all.size(); j += 41) {
          const double seconds = std::chrono::duration<double>(all[j] - all[i]).count();
          ASSERT_LE(static_cast<double>(j - i + 1), 100 + rate * seconds + 1) << whose;
        }
    }
    std::map<std::string, std::map<int, Duration>> by_age;
    for (const auto& [key, at] : went) by_age[asked.at(key).first].emplace(asked.at(key).second, at);
    for (const auto& [ns, of_namespace] : by_age) {
      Duration before{};
      for (const auto& [number, at] : of_namespace) {
        ASSERT_LE(before, at) << number << " of " << ns << " is younger than one that went later";
        before = at;
      }
    }
  }

  ManualClock clock;
  MonoTime began = clock.mono_now();
  Turns<> turns{clock, TurnRates{}};
  std::map<std::string, std::pair<std::string, int>> asked;
  std::map<std::string, Duration> went;
};

TEST_F(TurnsTest, AHundredGoAtOnce) {
  for (int i = 0; i < 100; ++i) ask("k" + std::to_string(i), "one", i);
  EXPECT_EQ(went.size(), 100u);
  EXPECT_EQ(last(), 0s);
  EXPECT_FALSE(turns.next_due());
  ask("one-more", "one", 100);
  run();
  EXPECT_EQ(last(), 100ms) << "ten a second of a namespace";
}

TEST_F(TurnsTest, FiveThousandOfOneNamespace) {
  for (int i = 0; i < 5000; ++i) ask("k" + std::to_string(i), "one", i);
  run();
  ASSERT_EQ(went.size(), 5000u);
  EXPECT_LE(last(), 490s + 10ms);
  EXPECT_GE(last(), 489s);
  check_rates();
}

TEST_F(TurnsTest, FiveThousandOfTenNamespaces) {
  for (int i = 0; i < 5000; ++i) ask("k" + std::to_string(i), "ns" + std::to_string(i / 500), i);
  run();
  ASSERT_EQ(went.size(), 5000u);
  // The oldest hundred at once; then five namespaces at a time, each at its own pace.
  EXPECT_LE(last(), 100s + 100ms);
  EXPECT_GE(last(), 97s);
  check_rates();
  // Beyond the first hundred no namespace has more than its own pace.
  std::map<std::string, size_t> late;
  for (const auto& [key, at] : went)
    if (at > 0s && at <= 10s) ++late[asked[key].first];
  for (const auto& [ns, count] : late) EXPECT_LE(count, 102u) << ns;
}

// A namespace with thousands of waiting pods delays nobody else.
TEST_F(TurnsTest, OthersAreNotDelayedByOneNamespace) {
  for (int i = 0; i < 3000; ++i) ask("k" + std::to_string(i), "crowd", i);
  while (clock.mono_now() - began < 30s) {
    clock.advance(100ms);
    go();
  }
  const Duration now = clock.mono_now() - began;
  for (int i = 0; i < 90; ++i) ask("other" + std::to_string(i), "other", 5000 + i);
  for (int i = 0; i < 90; ++i) EXPECT_EQ(went.at("other" + std::to_string(i)), now);
}

TEST_F(TurnsTest, AKeyThatLeavesGivesItsTurnBack) {
  for (int i = 0; i < 100; ++i) ask("k" + std::to_string(i), "one", i);
  EXPECT_FALSE(turns.enter("waits", "one", since(100)));
  EXPECT_FALSE(turns.enter("waits", "one", since(100))) << "once in line";
  EXPECT_EQ(turns.waiting(), 1u);
  turns.leave("waits");
  EXPECT_EQ(turns.waiting(), 0u);
  EXPECT_FALSE(turns.next_due());
  clock.advance(100ms);
  EXPECT_TRUE(turns.let_in().empty());
  EXPECT_FALSE(turns.enter("late", "two", since(1)) && turns.enter("later", "one", since(1)) &&
               turns.enter("last", "one", since(2)))
      << "one token has come for namespace one";
  turns.clear();
  EXPECT_EQ(turns.waiting(), 0u);
}

// Random arrivals from random namespaces, seed in the failure.
TEST_F(TurnsTest, NeverMoreThanTheRates) {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    SCOPED_TRACE(seed);
    SeededRandom random(seed);
    ManualClock other;
    Turns own(other, TurnRates{});
    std::map<std::string, std::string> ns_of;
    std::vector<std::pair<MonoTime, std::string>> times;
    int made = 0;
    for (int step = 0; step < 2000; ++step) {
      other.advance(std::chrono::milliseconds(random.below(40)));
      for (uint64_t n = random.below(8); n > 0; --n) {
        const std::string key = "k" + std::to_string(made++), ns = "ns" + std::to_string(random.below(4));
        ns_of[key] = ns;
        if (own.enter(key, ns, since(made))) times.emplace_back(other.mono_now(), key);
      }
      for (const std::string& key : own.let_in()) {
        ASSERT_TRUE(own.enter(key, ns_of[key], ""));
        times.emplace_back(other.mono_now(), key);
      }
    }
    for (const std::string whose : {"", "ns0", "ns1", "ns2", "ns3"}) {
      std::vector<MonoTime> all;
      for (const auto& [at, key] : times)
        if (whose.empty() || ns_of[key] == whose) all.push_back(at);
      for (size_t i = 0; i < all.size(); i += 7)
        for (size_t j = i; j < all.size(); j += 13)
          ASSERT_LE(static_cast<double>(j - i + 1),
                    101 + (whose.empty() ? 50 : 10) * std::chrono::duration<double>(all[j] - all[i]).count());
    }
  }
}

}  // namespace dra::queue::turns_test
