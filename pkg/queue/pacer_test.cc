#include "pkg/queue/pacer.h"

#include <gtest/gtest.h>

#include <set>

#include "pkg/base/random.h"

namespace dra::queue::pacer_test {

using namespace std::chrono_literals;

TEST(Pacer, LetsABurstInAndTheRestInOrderAtTheRate) {
  ManualClock clock;
  Pacer pacer(clock, 10, 2);
  EXPECT_TRUE(pacer.enter("a"));
  EXPECT_TRUE(pacer.enter("b"));
  EXPECT_FALSE(pacer.enter("c"));
  EXPECT_FALSE(pacer.enter("d"));
  EXPECT_FALSE(pacer.enter("c")) << "asking again keeps the place";
  EXPECT_EQ(pacer.waiting(), 2u);
  ASSERT_TRUE(pacer.next_due());
  EXPECT_EQ(*pacer.next_due() - clock.mono_now(), 100ms);
  EXPECT_TRUE(pacer.let_in().empty());
  clock.advance(100ms);
  EXPECT_EQ(pacer.let_in(), std::vector<std::string>{"c"});
  EXPECT_FALSE(pacer.enter("e")) << "nobody overtakes the line";
  EXPECT_TRUE(pacer.enter("c"));
  clock.advance(100ms);
  EXPECT_EQ(pacer.let_in(), std::vector<std::string>{"d"});
}

TEST(Pacer, WhoLeavesGivesBackWhatItHas) {
  ManualClock clock;
  Pacer pacer(clock, 1, 1);
  EXPECT_TRUE(pacer.enter("a"));
  EXPECT_FALSE(pacer.enter("b"));
  EXPECT_FALSE(pacer.enter("c"));
  pacer.leave("b");
  clock.advance(1s);
  EXPECT_EQ(pacer.let_in(), std::vector<std::string>{"c"});
  pacer.leave("c");
  EXPECT_FALSE(pacer.next_due());
  EXPECT_TRUE(pacer.enter("d")) << "the token of c is there again";
}

TEST(Pacer, WithinAnyTimeNoMoreThanRateAndBurstAndEverybodyGetsIn) {
  const uint64_t seed = 7;
  SeededRandom random(seed);
  ManualClock clock;
  Pacer pacer(clock, 50, 5);
  std::set<std::string> outside;
  for (int i = 0; i < 1000; ++i) outside.insert("k" + std::to_string(i));
  std::vector<MonoTime> entered;
  const auto attempt = [&](const std::string& key) {
    if (!pacer.enter(key)) return;
    entered.push_back(clock.mono_now());
    outside.erase(key);
  };
  for (const std::string& key : std::set<std::string>(outside)) attempt(key);
  while (!outside.empty()) {
    ASSERT_TRUE(pacer.next_due());
    const Duration wait = *pacer.next_due() - clock.mono_now();
    clock.advance(wait + Duration(static_cast<Duration::rep>(random.below(3'000'000))));
    for (const std::string& key : pacer.let_in()) random.below(10) == 0 ? pacer.leave(key) : attempt(key);
    if (random.below(4) == 0) attempt(*outside.begin());
    if (pacer.waiting() == 0)
      for (const std::string& key : std::set<std::string>(outside)) attempt(key);
  }
  EXPECT_EQ(entered.size(), 1000u);
  for (size_t i = 0; i + 55 < entered.size(); ++i)
    EXPECT_GE(entered[i + 55] - entered[i], 999ms) << "seed " << seed << ": more than 55 within a second";
}

}  // namespace dra::queue::pacer_test
