#include "pkg/base/fair_line.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "pkg/base/random.h"

namespace dra::fair_line_test {

std::vector<std::string> drained(FairLine<>& line) {
  std::vector<std::string> keys;
  while (const auto taken = line.pop()) keys.push_back(taken->key);
  return keys;
}

TEST(FairLine, TakesTurnsByGroupAndPriorityWithinAGroup) {
  FairLine line;
  for (const char* key : {"a1", "a2", "a3"}) line.push(key, {"a", 0});
  line.push("a-urgent", {"a", 10});
  line.push("b1", {"b", -5});
  line.push("b2", {"b", -5});
  EXPECT_EQ(line.size(), 6u);
  EXPECT_EQ(drained(line), (std::vector<std::string>{"a-urgent", "b1", "a1", "b2", "a2", "a3"}));
  EXPECT_FALSE(line.ready());
}

TEST(FairLine, OneKeyWaitsForOneTurnOfACrowd) {
  FairLine line;
  for (int i = 0; i < 5000; ++i) line.push(std::to_string(i), {"hostile", 1'000'000});
  line.push("alone", {"other", 0});
  EXPECT_EQ(line.pop()->group, "hostile");
  EXPECT_EQ(line.pop()->key, "alone");
}

TEST(FairLine, ABlockedGroupKeepsItsKeys) {
  FairLine line;
  line.push("a1", {"a", 0});
  line.push("b1", {"b", 0});
  line.block("a");
  line.block("c");
  line.push("a2", {"a", 0});
  line.push("c1", {"c", 0});
  EXPECT_EQ(drained(line), std::vector<std::string>{"b1"});
  EXPECT_EQ(line.size(), 3u);
  EXPECT_FALSE(line.ready());
  line.unblock("a");
  line.unblock("never blocked");
  EXPECT_EQ(drained(line), (std::vector<std::string>{"a1", "a2"}));
  line.clear();
  line.push("c2", {"c", 0});
  EXPECT_FALSE(line.ready()) << "still blocked";
  line.unblock("c");
  EXPECT_EQ(drained(line), std::vector<std::string>{"c2"});
}

TEST(FairLine, EvictsTheOldestOfTheLeastPriorityOfTheLargestGroup) {
  FairLine line;
  for (int i = 0; i < 3; ++i) line.push("hostile-warning-" + std::to_string(i), {"hostile", 1});
  for (int i = 0; i < 2; ++i) line.push("hostile-normal-" + std::to_string(i), {"hostile", 0});
  line.push("other-normal", {"other", 0});
  EXPECT_EQ(line.evict()->key, "hostile-normal-0");
  EXPECT_EQ(line.evict()->key, "hostile-normal-1");
  EXPECT_EQ(line.evict()->key, "hostile-warning-0");
  EXPECT_EQ(line.size(), 3u);
  EXPECT_EQ(drained(line).size(), 3u);
  EXPECT_FALSE(line.evict());
  line.push("only", {"a", 0});
  EXPECT_EQ(line.evict()->key, "only");
  EXPECT_FALSE(line.pop());
}

TEST(FairLine, RankedKeysShareTheirPlacesAndPassNoOther) {
  FairLine line;
  const auto ranked = [](uint64_t round, const char* age, int32_t priority = 0) {
    return Place{"a", priority, Rank{round, age}};
  };
  line.push("young", ranked(1, "2026-03"));
  line.push("plain-1", {"a", 0});
  line.push("next-round", ranked(2, "2026-01"));
  line.push("plain-2", {"a", 0});
  line.push("follow-up", ranked(1, "2026-02"));
  line.push("equal", ranked(1, "2026-02"));
  line.push("urgent", ranked(9, "2026-09", 1));
  EXPECT_EQ(line.size(), 7u);
  EXPECT_EQ(drained(line),
            (std::vector<std::string>{"urgent", "equal", "plain-1", "follow-up", "plain-2", "young", "next-round"}));
  line.push("twice", ranked(1, ""));
  line.push("twice", ranked(1, ""));
  EXPECT_EQ(line.evict()->key, "twice");
  EXPECT_EQ(line.pop()->key, "twice");
  EXPECT_FALSE(line.pop());
}

// Endless follow-ups overtake ranked keys of their round, but a key without a rank waits only for earlier arrivals.
TEST(FairLine, EndlessFollowUpsDelayNoKeyWithoutARank) {
  FairLine line;
  line.push("a", {"g", 0, Rank{1, "2026-01"}});
  line.push("plain", {"g", 0});
  EXPECT_EQ(line.pop()->key, "a");
  line.push("b", {"g", 0, Rank{1, "2026-01"}});
  EXPECT_EQ(line.pop()->key, "plain");
}

// Compared with a slow model: between two turns of a group that always has keys, no other group gets two turns.
TEST(FairLine, IsFairAndCompleteInRandomOrders) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    SeededRandom random(seed);
    FairLine line;
    std::map<std::string, std::vector<std::pair<int, std::string>>> waiting;  // -priority and key, in order of arrival
    std::map<std::string, int> since_turn;  // turns of other groups since this group's last turn
    std::set<std::string> blocked;
    int made = 0;
    for (int step = 0; step < 3000; ++step) {
      const std::string group(1, static_cast<char>('a' + random.below(5)));
      const uint64_t what = random.below(12);
      if (what < 6) {
        const int priority = static_cast<int>(random.below(3));
        line.push(std::to_string(++made), {group, priority});
        waiting[group].emplace_back(-priority, std::to_string(made));
      } else if (what == 6) {
        line.block(group);
        blocked.insert(group);
        since_turn.clear();
      } else if (what == 7) {
        line.unblock(group);
        blocked.erase(group);
        since_turn.clear();
      } else {
        const auto taken = line.pop();
        if (!taken) {
          for (const auto& [name, keys] : waiting) ASSERT_TRUE(keys.empty() || blocked.contains(name)) << name;
          continue;
        }
        ASSERT_FALSE(blocked.contains(taken->group));
        auto& keys = waiting[taken->group];
        auto best =
            std::min_element(keys.begin(), keys.end(), [](const auto& x, const auto& y) { return x.first < y.first; });
        ASSERT_NE(best, keys.end());
        EXPECT_EQ(taken->key, best->second);
        keys.erase(best);
        for (const auto& [name, others] : waiting)
          if (name != taken->group && !others.empty() && !blocked.contains(name)) {
            EXPECT_LE(++since_turn[name], 10) << name << " waits for its turn";
          }
        since_turn[taken->group] = 0;
      }
    }
  }
}

}  // namespace dra::fair_line_test
