#include "pkg/http/turns.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

namespace dra::http {
namespace {

// A hand-made reactor queue, and a clock that requests advance.
struct Loop {
  std::deque<Turns::Task> queue;
  std::chrono::nanoseconds now{};
  bool lagging = false;
  std::shared_ptr<Turns> turns = std::make_shared<Turns>([this](Turns::Task task) { queue.push_back(std::move(task)); },
                                                         [this] { return now; }, [this] { return lagging; });
  std::string log;

  void run() {
    while (!queue.empty()) {
      const auto task = std::move(queue.front());
      queue.pop_front();
      task();
      now += std::chrono::microseconds(2);  // a round
    }
  }
  void request(char name, std::chrono::nanoseconds takes, std::string_view flow = {}) {
    turns->add(
        [this, name, takes] {
          log += name;
          now += takes;
        },
        flow);
  }
  // `left` more requests of the flow, each sent when the one before it is answered.
  void client(char name, std::chrono::nanoseconds takes, std::string_view flow, int left) {
    turns->add(
        [this, name, takes, flow, left] {
          log += name;
          now += takes;
          if (left > 0) queue.push_back([this, name, takes, flow, left] { client(name, takes, flow, left - 1); });
        },
        flow);
  }
  // A stream of `pieces` pieces, one sent per round.
  void stream(int pieces) {
    log += '.';
    if (pieces > 1) queue.push_back([this, pieces] { stream(pieces - 1); });
  }
};

TEST(Turns, AnswersInTheOrderOfArrival) {
  Loop loop;
  for (const char name : std::string("abc")) loop.request(name, std::chrono::microseconds(10));
  EXPECT_EQ(loop.log, "");
  loop.run();
  EXPECT_EQ(loop.log, "abc");
}

TEST(Turns, AStreamGetsAShareOfTheTimeThatRequestsTake) {
  Loop loop;
  for (const char name : std::string("abcd")) loop.request(name, std::chrono::milliseconds(10));
  loop.queue.push_back([&] { loop.stream(1'000); });
  loop.run();
  const size_t second = loop.log.find('b'), third = loop.log.find('c');
  EXPECT_GE(third - second, 200U);
  EXPECT_LT(third - second, 400U);
}

TEST(Turns, ShortRequestsWaitForNobody) {
  Loop loop;
  for (const char name : std::string("abcd")) loop.request(name, std::chrono::microseconds(30));
  loop.queue.push_back([&] { loop.stream(1'000); });
  loop.run();
  EXPECT_LT(loop.log.find('d'), 8U);
}

// A write of 200 KB takes about a millisecond, and makes thirteen records of each stream that watches it.
TEST(Turns, AStreamThatLagsCatchesUpAfterShortRequestsToo) {
  Loop loop;
  loop.lagging = true;
  for (const char name : std::string("abcd")) loop.request(name, std::chrono::microseconds(700));
  loop.queue.push_back([&] { loop.stream(1'000); });
  loop.run();
  EXPECT_GE(loop.log.find('c') - loop.log.find('b'), 13U) << loop.log;
}

// Four clients change large objects; each change takes 10 ms, its portion of a watch `to_encode` and 400 rounds to
// send.
void expect_that_a_watch_keeps_up(std::chrono::milliseconds to_encode) {
  Loop loop;
  int changes = 0, sent = 0, behind = 0;
  bool idle = true;
  std::function<void(int)> rounds;
  const std::function<void()> portion = [&] {
    loop.now += to_encode;
    ++sent;
    loop.lagging = true;
    loop.queue.push_back([&] { rounds(400); });
  };
  rounds = [&](int left) {
    if (left > 0) return loop.queue.push_back([&, left] { rounds(left - 1); });
    loop.lagging = false;
    idle = sent == changes;
    if (!idle) loop.turns->add_portion(portion, "of all");
  };
  const std::function<void()> change = [&] {
    loop.now += std::chrono::milliseconds(10);
    behind = std::max(behind, ++changes - sent);
    if (std::exchange(idle, false)) loop.turns->add_portion(portion, "of all");
    if (changes < 200) loop.queue.push_back([&] { loop.turns->add(change, "tenant"); });
  };
  for (int i = 0; i < 4; ++i) loop.turns->add(change, "tenant");
  loop.run();
  EXPECT_GE(changes, 200);
  EXPECT_EQ(sent, changes);
  EXPECT_LE(behind, 2);
}

TEST(Turns, AWatchKeepsUpWithChangesOfLargeObjects) {
  expect_that_a_watch_keeps_up(std::chrono::milliseconds(8));
  expect_that_a_watch_keeps_up(std::chrono::milliseconds(25));  // more than the change itself takes
}

// However many portions there are, requests get a quarter of the time.
TEST(Turns, StreamsGetThreeTimesTheTimeOfRequestsAtMost) {
  Loop loop;
  int portions = 0;
  std::function<void()> portion = [&] {
    loop.log += '-';
    loop.now += std::chrono::milliseconds(10);
    if (++portions < 200) loop.turns->add_portion(portion, "of all");
  };
  for (int i = 0; i < 4; ++i) loop.turns->add_portion(portion, "of all");
  for (const char name : std::string("abc")) loop.client(name, std::chrono::milliseconds(5), "tenant", 9);
  loop.run();
  const std::string until_the_last_request = loop.log.substr(0, loop.log.find_last_of("abc"));
  EXPECT_LE(std::count(until_the_last_request.begin(), until_the_last_request.end(), '-'), 44) << loop.log;
}

// A stream that is being sent when they add to it gets all of it in its next round.
TEST(Turns, ShortRequestsShareATurn) {
  Loop loop;
  for (const char name : std::string("abcd")) loop.request(name, std::chrono::microseconds(300));
  loop.queue.push_back([&] { loop.stream(1'000); });
  loop.run();
  EXPECT_EQ(loop.log.substr(0, 5), "abcd.");
}

TEST(Turns, LongRequestsOfOneFlowLetTheOthersThrough) {
  Loop loop;
  for (int i = 0; i < 8; ++i) loop.request('L', std::chrono::milliseconds(40), "tenant");
  loop.client('s', std::chrono::microseconds(100), "default", 5);
  loop.run();
  // Each of them waits for one long request at most.
  EXPECT_EQ(loop.log, "LsLsLsLsLsLsLL");
}

TEST(Turns, AFlowThatSendsMoreGetsNoMoreTime) {
  Loop loop;
  for (int i = 0; i < 12; ++i) loop.request('m', std::chrono::milliseconds(10), "many");
  for (int i = 0; i < 4; ++i) loop.request('f', std::chrono::milliseconds(10), "few");
  loop.run();
  EXPECT_EQ(loop.log, "mfmfmfmfmmmmmmmm");
}

// Otherwise a flow that was quiet for an hour would have the next hour for itself.
TEST(Turns, TimeIsNotSavedUp) {
  Loop loop;
  loop.client('b', std::chrono::milliseconds(10), "busy", 20);
  loop.request('b', std::chrono::milliseconds(10), "busy");
  loop.run();
  loop.log.clear();
  for (int i = 0; i < 4; ++i) loop.request('b', std::chrono::milliseconds(10), "busy");
  for (int i = 0; i < 4; ++i) loop.request('q', std::chrono::milliseconds(10), "quiet");
  loop.run();
  EXPECT_LT(loop.log.find('b'), 3U) << loop.log;
}

TEST(Turns, ARequestThatThrowsDelaysNoOther) {
  Loop loop;
  loop.turns->add([] { throw std::runtime_error("of the test"); });
  loop.request('b', {});
  EXPECT_THROW(loop.run(), std::runtime_error);
  loop.run();
  EXPECT_EQ(loop.log, "b");
}

TEST(Turns, ThePauseIsBounded) {
  Loop loop;
  loop.request('a', std::chrono::hours(1));
  loop.request('b', {});
  loop.run();
  EXPECT_EQ(loop.log, "ab");
}

TEST(Turns, WhatWasDroppedIsNotAnswered) {
  Loop loop;
  loop.request('a', {});
  loop.turns->drop();
  loop.run();
  loop.turns.reset();
  EXPECT_EQ(loop.log, "");
}

}  // namespace
}  // namespace dra::http
