#include "pkg/http/connection_table.h"

#include <gtest/gtest.h>

#include "pkg/base/random.h"

namespace dra::http::connection_table_test {

using Id = ConnectionTable::Id;

TEST(ConnectionTableTest, TheOldestThatDoesNothingGoesFirst) {
  ConnectionTable table({.total = 3});
  const Id fresh = table.add("a");
  const Id idle = table.add("a");
  table.enter(idle, Phase::kIdle);
  const Id busy = table.add("b");
  table.enter(busy, Phase::kBusy);
  EXPECT_EQ(table.excess(busy), std::nullopt);
  const Id fourth = table.add("c");
  EXPECT_EQ(table.excess(fourth), fresh);
  table.remove(fresh);
  const Id fifth = table.add("d");
  EXPECT_EQ(table.excess(fifth), fourth) << "fresh ones go before idle ones";
  table.remove(fourth);
  table.enter(fifth, Phase::kBusy);
  const Id sixth = table.add("e");
  EXPECT_EQ(table.excess(sixth), idle);
  table.remove(idle);
  table.enter(sixth, Phase::kBusy);
  const Id seventh = table.add("f");
  EXPECT_EQ(table.excess(seventh), seventh) << "all others are being answered";
}

TEST(ConnectionTableTest, APeerWithTooManyPaysItself) {
  ConnectionTable table({.total = 10, .per_peer = 2});
  const Id other = table.add("probe");
  const Id first = table.add("flood");
  table.add("flood");
  const Id third = table.add("flood");
  EXPECT_EQ(table.excess(third), first);
  table.remove(first);
  EXPECT_EQ(table.excess(third), std::nullopt);
  EXPECT_EQ(table.excess(other), std::nullopt);
}

TEST(ConnectionTableTest, BytesThatWaitHaveALimitInAll) {
  ConnectionTable table({.received_bytes = 100});
  const Id one = table.add("a");
  table.set_received(one, 60);
  EXPECT_EQ(table.excess(one), std::nullopt);
  const Id two = table.add("b");
  table.set_received(two, 60);
  EXPECT_EQ(table.excess(two), one);
  table.remove(one);
  EXPECT_EQ(table.excess(two), std::nullopt);
  table.set_received(two, 101);
  EXPECT_EQ(table.excess(two), two);
}

// After any order of calls every limit holds, nothing busy is closed, and the counts add up.
TEST(ConnectionTableTest, LimitsHoldAfterAnyCalls) {
  const uint64_t seed = 20261122;
  SeededRandom random(seed);
  const ConnectionTable::Limits limits{
      .total = 20, .per_peer = 8, .fresh = 6, .idle = 5, .answering = 4, .received_bytes = 500};
  ConnectionTable table(limits);
  struct Known {
    std::string peer;
    Phase phase;
    size_t received;
  };
  std::map<Id, Known> known;
  for (int step = 0; step < 20'000; ++step) {
    Id id = 0;
    if (known.empty() || random.below(3) == 0) {
      const std::string peer(1, static_cast<char>('a' + random.below(5)));
      id = table.add(peer);
      known[id] = {peer, Phase::kFresh, 0};
    } else {
      auto it = known.begin();
      std::advance(it, random.below(known.size()));
      id = it->first;
      switch (random.below(3)) {
        case 0:
          it->second.phase = static_cast<Phase>(random.below(5));
          table.enter(id, it->second.phase);
          break;
        case 1:
          it->second.received = it->second.phase == Phase::kBusy ? 0 : random.below(200);
          table.set_received(id, it->second.received);
          break;
        default:
          table.remove(id);
          known.erase(it);
      }
    }
    if (auto it = known.find(id); it != known.end() && it->second.phase > Phase::kReading) {
      it->second.received = 0;
      table.set_received(id, 0);
    }
    while (const auto gone = table.excess(id)) {
      ASSERT_TRUE(*gone == id || known.at(*gone).phase != Phase::kBusy) << "seed " << seed << " step " << step;
      table.remove(*gone);
      known.erase(*gone);
    }
    std::map<std::string, size_t> peers;
    std::map<Phase, size_t> phases;
    size_t received = 0;
    for (const auto& [k, v] : known) {
      ++peers[v.peer];
      ++phases[v.phase];
      received += v.received;
    }
    ASSERT_EQ(table.size(), known.size());
    ASSERT_LE(known.size(), limits.total);
    ASSERT_LE(phases[Phase::kFresh], limits.fresh) << "seed " << seed << " step " << step;
    ASSERT_LE(phases[Phase::kIdle] + phases[Phase::kReading], limits.idle) << "seed " << seed << " step " << step;
    ASSERT_LE(phases[Phase::kAnswering], limits.answering);
    ASSERT_LE(received, limits.received_bytes) << "seed " << seed << " step " << step;
    for (const auto& [peer, count] : peers) ASSERT_LE(count, limits.per_peer);
  }
}

}  // namespace dra::http::connection_table_test
