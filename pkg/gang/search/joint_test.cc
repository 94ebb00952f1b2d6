// The bound is never below what can be placed, and it refutes what counting each kind alone does not.
#include "pkg/gang/search/joint.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "pkg/base/random.h"

namespace dra::gang {
namespace {

TEST(Joint, DevicesThatAreEnoughForEitherKindAloneAreCountedOnce) {
  // 32 members of 4 devices and 32 of 2, on 47 nodes with 4: one node too few.
  JointCount count{{{32, {4}}, {32, {2}}}, {{47, {1, 2}, {4}}}};
  EXPECT_EQ(most_together(count, 64), 63u);
  count.nodes[0].count = 48;
  EXPECT_GE(most_together(count, 64), 64u);
}

TEST(Joint, WhatIsLeftOverCountsForNobody) {
  // If 3 devices of 4 are taken, nobody can use the last one.
  const JointCount count{{{32, {3}}, {32, {2}}}, {{47, {1, 2}, {4}}}};
  EXPECT_EQ(most_together(count, 64), 63u);
}

TEST(Joint, KindsThatShareNothingDoNotLimitEachOther) {
  const JointCount count{{{10, {1, 0}}, {10, {0, 1}}}, {{10, {1, 1}, {1, 1}}}};
  EXPECT_GE(most_together(count, 20), 20u);
}

TEST(Joint, TooManySetsAreCountedInSum) {
  JointCount count{{{100, {1}}, {100, {1}}, {100, {1}}}, {{1, {100, 100, 100}, {100}}}};
  EXPECT_EQ(most_together(count, 300), 100u);
  count.nodes[0].has[0] = 300;
  EXPECT_GE(most_together(count, 300), 300u);
}

TEST(Joint, MoreKindsThanAreCombinedAreCountedInSum) {
  JointCount count;
  for (uint64_t kind = 1; kind <= 20; ++kind) count.kinds.push_back({1, {kind}});
  count.nodes.push_back({10, std::vector<uint32_t>(20, 1), {20}});
  EXPECT_EQ(most_together(count, 20), 19u) << "1 to 19 make 190, and there are 200";
  count.nodes.push_back({1, std::vector<uint32_t>(20, 1), {10}});
  EXPECT_GE(most_together(count, 20), 20u);
}

// A thousand nodes that all have something else left.
TEST(Joint, NodesThatDifferInWhatMakesNoDifferenceAreOne) {
  JointCount count{{{750, {3000}}, {1000, {2000}}}, {}};
  for (uint32_t node = 0; node < 1000; ++node) count.nodes.push_back({1, {1, 2}, {4000 + node % 997}});
  EXPECT_LT(most_together(count, 1750), 1750u) << "one or two on each: 500 nodes for 1000, and 500 for 750";
  // The same members as eight kinds: more than are combined.
  JointCount more{{}, count.nodes};
  for (int i = 0; i < 4; ++i) more.kinds.push_back({i == 0 ? 189u : 187u, {3000}});
  for (int i = 0; i < 4; ++i) more.kinds.push_back({250, {2000}});
  for (JointCount::Nodes& nodes : more.nodes) nodes.most = {1, 1, 1, 1, 2, 2, 2, 2};
  EXPECT_GE(most_together(more, 1750), 1750u) << "counted in sum";
}

// The most that can be placed, by trying everything.
uint32_t tried(const JointCount& count) {
  std::vector<uint32_t> placed(count.kinds.size(), 0);
  uint32_t best = 0;
  std::vector<const JointCount::Nodes*> nodes;
  for (const JointCount::Nodes& one : count.nodes) nodes.insert(nodes.end(), one.count, &one);
  const std::function<void(size_t, size_t, std::vector<uint64_t>)> place = [&](size_t node, size_t kind,
                                                                               std::vector<uint64_t> left) {
    if (node == nodes.size()) {
      uint32_t sum = 0;
      for (const uint32_t members : placed) sum += members;
      best = std::max(best, sum);
      return;
    }
    if (kind == count.kinds.size())
      return place(node + 1, 0, node + 1 < nodes.size() ? nodes[node + 1]->has : std::vector<uint64_t>());
    for (uint32_t members = 0; members <= nodes[node]->most[kind]; ++members) {
      if (placed[kind] + members > count.kinds[kind].size) break;
      std::vector<uint64_t> rest = left;
      bool fits = true;
      for (size_t thing = 0; thing < rest.size(); ++thing) {
        const uint64_t wants = members * count.kinds[kind].wants[thing];
        fits = fits && wants <= rest[thing];
        rest[thing] -= std::min(rest[thing], wants);
      }
      if (!fits) break;
      placed[kind] += members;
      place(node, kind + 1, std::move(rest));
      placed[kind] -= members;
    }
  };
  if (!nodes.empty()) place(0, 0, nodes[0]->has);
  return best;
}

TEST(Joint, TheBoundHoldsAndIsMostlyExact) {
  SeededRandom random(7);
  const auto below = [&](uint64_t n) { return static_cast<uint32_t>(random.next() % n); };
  size_t exact = 0;
  constexpr size_t kWorlds = 1'000;
  for (size_t world = 0; world < kWorlds; ++world) {
    JointCount count;
    const size_t things = 1 + below(2);
    for (size_t kind = 0; kind < 2 + below(2); ++kind) {
      count.kinds.push_back({1 + below(4), {}});
      for (size_t thing = 0; thing < things; ++thing) count.kinds.back().wants.push_back(below(4));
    }
    for (size_t node = 0; node < 1 + below(2); ++node) {
      JointCount::Nodes nodes{1 + below(2), {}, {}};
      for (size_t kind = 0; kind < count.kinds.size(); ++kind) nodes.most.push_back(below(3));
      for (size_t thing = 0; thing < things; ++thing) nodes.has.push_back(below(7));
      count.nodes.push_back(std::move(nodes));
    }
    const uint32_t truth = tried(count);
    const uint64_t bound = most_together(count, truth + 1);
    ASSERT_GE(bound, truth) << "world " << world;
    exact += bound == truth;
  }
  EXPECT_GT(exact, kWorlds * 9 / 10);
  std::printf("exact in %zu of %zu\n", exact, kWorlds);
}

}  // namespace
}  // namespace dra::gang
