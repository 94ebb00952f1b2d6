// The strategy: by flag (the allocator's option) or by class, and what events report about it on the pod and the class.
#include <gtest/gtest.h>

#include "controllers/allocation/allocation_fixture.h"

namespace dra::allocation::strategy_test {
namespace {

using reconcile::Write;

class StrategyOfClass : public AllocationTest {
 protected:
  // One device of n1 is taken: packing goes there, spreading to n2.
  StrategyOfClass() {
    allocated("x", "n1", "gpu-0", false, {});
    view.put(make_pod("p", {"c"}));
    put(make_claim("c"));
  }
  void annotate(const std::string& text) {
    api::DeviceClass gpu;
    gpu.metadata.name = "gpu";
    gpu.metadata.uid = "gpu-class-uid";
    gpu.metadata.annotations[std::string(allocator::kStrategyAnnotation)] = text;
    inventory.apply_class(gpu);
    view.classes["gpu"] = gpu;
  }
  std::string node_chosen() {
    for (const reconcile::Effect& effect : last.effects)
      if (const Write* write = std::get_if<Write>(&effect); write && write->assume_pod) return write->assume_pod->node;
    return "";
  }
};

TEST_F(StrategyOfClass, TheClassSaysHow) {
  ASSERT_EQ(pass(), "allocate c");
  EXPECT_EQ(node_chosen(), "n1");
  annotate("spread");
  ASSERT_EQ(pass(), "allocate c");
  EXPECT_EQ(node_chosen(), "n2");
  nodes.names = {"n2", "n1"};
  annotate("pack");
  ASSERT_EQ(pass(), "allocate c");
  EXPECT_EQ(node_chosen(), "n1");
  annotate("best-fit");
  ASSERT_EQ(pass(), "allocate c");
  EXPECT_EQ(node_chosen(), "n1") << "n2 keeps two whole devices";
  annotate("first-fit");
  ASSERT_EQ(pass(), "allocate c");
  EXPECT_EQ(node_chosen(), "n2");
}

TEST_F(StrategyOfClass, WhatIsNoStrategyIsIgnoredAndSaidOnce) {
  annotate("tightest");
  ASSERT_EQ(pass(), "event UnknownStrategy, allocate c");
  EXPECT_EQ(node_chosen(), "n1");
  EXPECT_EQ(event().regarding.name, "gpu");
  EXPECT_NE(event().note.find("\"tightest\""), std::string::npos) << event().note;
  remember();
  EXPECT_EQ(pass(), "allocate c");
}

// A node that the pod prefers precedes what the devices say; the node promised to the pod precedes everything.
TEST_F(StrategyOfClass, ThePodsPreferenceComesFirst) {
  annotate("best-fit");
  nodes.facts = {{"n1", {1000, 0}}, {"n2", {1000, 3}}};
  ASSERT_EQ(pass(), "allocate c");
  EXPECT_EQ(node_chosen(), "n2");
}

TEST_F(StrategyOfClass, TheEventSaysWhy) {
  annotate("best-fit");
  test::WholeController reconciler(parts(options, inventory, allocator, nodes));
  const auto run = [&] { last = reconciler.reconcile(view, reconcile::pod_key("default/p")); };
  run();
  ASSERT_EQ(node_chosen(), "n1");
  proven(allocated("c", "n1", "gpu-1", true, {"p"}), "p");
  run();
  ASSERT_TRUE(write().success_event);
  EXPECT_NE(write().success_event->note.find(" on node n1, which "), std::string::npos) << write().success_event->note;
}

// Network cards of the node are no reason to say that more GPUs stay whole.
TEST_F(StrategyOfClass, TheEventCountsTheCardsOfThePodsDriver) {
  annotate("best-fit");
  auto claim = make_claim("c");
  claim.spec.requests[0].exactly->selectors = {"device.driver == \"gpu.example.com\""};
  put(claim);
  api::ResourceSlice cards = test::local_slice("net.example.com", "n2", "nic-", 3);
  cards.metadata.name = "n2-nics";
  inventory.apply_slice(cards);
  allocated("y", "n1", "gpu-1", false, {});  // n1 is full
  test::WholeController reconciler(parts(options, inventory, allocator, nodes));
  const auto run = [&] {
    last = reconciler.reconcile(view, reconcile::pod_key("default/p"));
    for (reconcile::Effect& effect : last.at_its_turn) last.effects.push_back(std::move(effect));
  };
  run();
  ASSERT_EQ(node_chosen(), "n2");
  proven(allocated("c", "n2", "gpu-0", true, {"p"}), "p");
  run();
  ASSERT_TRUE(write().success_event);
  EXPECT_NE(write().success_event->note.find(", which keeps 1 of 2 cards of gpu.example.com whole on n2"),
            std::string::npos)
      << write().success_event->note;
}

}  // namespace
}  // namespace dra::allocation::strategy_test
