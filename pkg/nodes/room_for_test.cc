// Room for what devices take of a node (KEP-5517) against the decision of placement: there is room for an amount
// exactly if the pod would be accepted with it.
#include <cstdlib>

#include "pkg/base/random.h"
#include "pkg/nodes/node_tracker_fixture.h"
#include "pkg/placement/resources.h"

namespace dra::nodes::node_tracker_test {

namespace {

class RoomFor : public NodeTrackerTest {
 protected:
  RoomFor() {
    tracker.set_known(Facts::kNamespaces, true, "");
    tracker.set_known(Facts::kWorkloads, true, "");
  }
  static api::Pod taking(api::Pod pod, const std::string& resource, const std::string& amount) {
    pod.claims_take = std::vector<api::ClaimTakes>{{"c", {{resource, amount}}}};
    return pod;
  }
  bool takes(const api::Pod& pod, const std::string& node) { return tracker.choose(pod, {node}).nodes.size() == 1; }
};

}  // namespace

TEST_F(RoomFor, AnAmountExactlyIfThePodIsAcceptedWithIt) {
  const char* asked = std::getenv("DRA_NODE_ROOM_CASES");
  const int cases = asked == nullptr ? 1500 : std::atoi(asked);
  SeededRandom random(5);
  int accepted = 0, refused = 0;
  for (int i = 0; i < cases; ++i) {
    api::Node node;
    node.metadata.name = "n";
    node.allocatable = {{"cpu", std::to_string(1 + random.below(4))},
                        {"memory", std::to_string(random.below(6)) + "Gi"},
                        {"ephemeral-storage", "3Gi"},
                        {"hugepages-2Mi", std::to_string(2 * random.below(4)) + "Mi"},
                        {"pods", "10"}};
    tracker.set_node(std::make_shared<const api::Node>(node));
    api::Pod other = pod("other", "", std::to_string(random.below(30)) + "00m");
    other.node_name = random.below(2) == 0 ? "n" : "n1";
    if (random.below(2) == 0) other.containers[0].requests["hugepages-2Mi"] = "2Mi";
    tracker.set_pod(random.below(2) == 0 ? taking(other, "memory", "1Gi") : other);
    api::Pod lower = pod("lower", "", "500m");
    lower.priority = static_cast<int32_t>(random.below(3)) - 1;
    lower.nominated_node_name = "n";
    if (random.below(2) == 0) tracker.set_pod(lower);
    api::Pod mine = pod("mine", "", std::to_string(random.below(12)) + "50m");
    mine.containers[0].requests["memory"] = std::to_string(random.below(3)) + "Gi";
    if (random.below(3) == 0) mine.overhead["cpu"] = "30m";
    if (random.below(3) == 0) {
      mine.init_containers.emplace_back().requests["cpu"] = "900m";
      if (random.below(2) == 0) mine.init_containers[0].restart_policy = "Always";
    }
    if (random.below(3) == 0) tracker.assume(mine, "n");
    const std::string resource =
        std::vector<std::string>{"cpu", "memory", "ephemeral-storage", "hugepages-2Mi"}.at(random.below(4));
    const std::string amount = resource == "cpu"             ? std::to_string(1 + random.below(40)) + "00m"
                               : resource == "hugepages-2Mi" ? std::to_string(2 * (1 + random.below(4))) + "Mi"
                                                             : std::to_string(1 + random.below(6)) + "Gi";
    const auto room = tracker.room_for(mine);
    ASSERT_TRUE(room);
    if (takes(mine, "n")) {
      const bool has = *api::Quantity::parse(amount) <= room("n", resource);
      ASSERT_EQ(has, takes(taking(mine, resource, amount), "n")) << i << " " << amount << " " << resource;
      has ? ++accepted : ++refused;
    }
    for (const char* name : {"other", "lower", "mine"}) tracker.remove_pod(name);
  }
  EXPECT_GT(accepted, cases / 20);
  EXPECT_GT(refused, cases / 20);
}

// The pod-level request has to cover containers and devices, whatever the node has left; overhead comes on top.
TEST_F(RoomFor, APodLevelRequestIsTheRoom) {
  api::Pod mine = pod("mine", "", "500m");
  mine.pod_requests = api::ResourceList{{"cpu", "1500m"}};
  mine.overhead["cpu"] = "100m";
  const auto room = tracker.room_for(mine);
  EXPECT_EQ(room("n1", "cpu"), *api::Quantity::parse("1"));
  EXPECT_EQ(room("n1", "memory"), *api::Quantity::parse("1Gi"));
  EXPECT_LT(room("gone", "memory"), api::Quantity());
}

TEST_F(RoomFor, WhatWasDecidedCountsUntilThePodIsBound) {
  const api::Pod first = pod("first", "", "100m"), second = pod("second", "", "100m");
  tracker.assume(first, "n1", std::vector<api::ClaimTakes>{{"c", {{"cpu", "1500m"}}}});
  const auto left = [&] { return tracker.room_for(second)("n1", "cpu").to_string(); };
  EXPECT_EQ(left(), "300m");
  tracker.set_pod(first);  // the stream does not say it yet
  EXPECT_EQ(left(), "300m");
  tracker.assume(first, "n1");
  EXPECT_EQ(left(), "300m") << "as before";
  EXPECT_EQ(tracker.room_for(first)("n1", "cpu").to_string(), "1900m") << "it does not stand in its own way";
  api::Pod bound = taking(first, "cpu", "1500m");
  bound.node_name = "n1";
  tracker.set_pod(bound);
  EXPECT_EQ(left(), "300m");
  tracker.remove_pod("first");
  EXPECT_EQ(left(), "1900m");
  tracker.assume(first, "n1");
  EXPECT_EQ(left(), "1800m") << "nothing is left of what it took before";
}

}  // namespace dra::nodes::node_tracker_test
