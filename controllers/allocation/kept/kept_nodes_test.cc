// Groups that have waited too long keep nodes, but no tenant keeps the cluster.
#include "controllers/allocation/kept/kept_nodes.h"

#include "controllers/allocation/allocation_fixture.h"

namespace dra::allocation::kept_nodes_test {

using namespace std::chrono_literals;

class KeptNodesTest : public AllocationTest {
 protected:
  static constexpr size_t kNodes = 100;

  // The group's first pod waits; younger groups have greater numbers.
  KeptNodes::One one(const std::string& ns, int number, size_t count) {
    KeptNodes::One made;
    made.ns = ns;
    made.rank.since = "2026-01-01T00:00:" + std::to_string(10 + number) + "Z";
    made.pod = "default/" + ns + std::to_string(number);
    made.pod_uid = ns + std::to_string(number) + "-uid";
    view.put(make_pod(ns + std::to_string(number), {}));
    for (size_t i = 0; i < count; ++i) made.nodes.insert(ns + std::to_string(number) + "-node" + std::to_string(i));
    made.since = view.time;
    return made;
  }
  bool keep(const std::string& ns, int number, size_t count) {
    return kept.keep(ns + std::to_string(number), one(ns, number, count), kNodes);
  }
  bool keeps(const std::string& ns, int number) {
    kept.tidy(view, options);
    return kept.keeps(ns + std::to_string(number) + "-node0", make_pod("small", {}), "") != nullptr;
  }

  KeptNodes kept;
};

TEST_F(KeptNodesTest, EachNamespaceKeepsForOneGroupBeforeAnyDoesForTwo) {
  for (int i = 0; i < 30; ++i) keep("greedy", i, 1);
  EXPECT_TRUE(keep("modest", 40, 1)) << "though it ranks last";
  EXPECT_TRUE(keeps("modest", 40));
  EXPECT_TRUE(keeps("greedy", 0));
  EXPECT_FALSE(keeps("greedy", static_cast<int>(KeptNodes::kMost) - 1));
  EXPECT_TRUE(keeps("greedy", static_cast<int>(KeptNodes::kMost) - 2));
}

TEST_F(KeptNodesTest, FurtherGroupsOfANamespaceShareHalfOfTheNodes) {
  EXPECT_TRUE(keep("big", 1, 90)) << "the first may need most of the cluster";
  EXPECT_FALSE(keep("big", 2, 1));
  EXPECT_TRUE(keep("other", 3, 30));
  EXPECT_TRUE(keep("other", 4, 20));
  EXPECT_FALSE(keep("other", 5, 1));
  EXPECT_FALSE(keeps("other", 5));
  EXPECT_TRUE(keep("other", 0, 60)) << "it ranks first";
  EXPECT_FALSE(keep("other", 4, 20)) << "a renewal is judged anew";
  EXPECT_FALSE(keeps("other", 4));
}

TEST_F(KeptNodesTest, AfterAnHourAGroupRests) {
  const WallTime start = view.time;
  std::map<int64_t, bool> kept_at;  // by minute
  for (; view.time - start <= 3h; view.time += 1min) {
    kept.tidy(view, options);
    keep("a", 1, 1);
    kept_at[std::chrono::duration_cast<std::chrono::minutes>(view.time - start).count()] = keeps("a", 1);
  }
  EXPECT_TRUE(kept_at.at(0));
  EXPECT_TRUE(kept_at.at(60));
  EXPECT_FALSE(kept_at.at(62));
  EXPECT_FALSE(kept_at.at(74));
  EXPECT_TRUE(kept_at.at(78));
  EXPECT_TRUE(kept_at.at(130));
  EXPECT_FALSE(kept_at.at(140));
}

TEST_F(KeptNodesTest, WhatIsNotRenewedIsForgotten) {
  keep("a", 1, 1);
  view.time += KeptNodes::kForget;
  EXPECT_TRUE(keeps("a", 1));
  view.time += 1s;
  EXPECT_FALSE(keeps("a", 1));
  EXPECT_TRUE(kept.empty());
}

}  // namespace dra::allocation::kept_nodes_test
