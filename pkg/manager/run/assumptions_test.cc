// What is assumed for a write that failed: what the objects say without it.
#include "pkg/manager/run/assumptions.h"

#include <gtest/gtest.h>

#include "client/informer/object_store.h"
#include "pkg/protocol/writes.h"

namespace dra::manager::assumptions_test {

class AssumptionsTest : public testing::Test {
 protected:
  AssumptionsTest()
      : pods(pods_core),
        claims(claims_core),
        stores{&pods, &claims, nullptr, nullptr, nullptr, nullptr},
        tracker(clock),
        assumptions(inventory, tracker, stores) {
    add_indexes(stores);
    pods_core.replace({}, 1);
    claims_core.replace({}, 1);
    auto node = std::make_shared<api::Node>();
    node->metadata.name = "n";
    node->allocatable = {{"cpu", "8"}, {"memory", "1Gi"}, {"pods", "1"}};
    tracker.set_node(node);
    pod = std::make_shared<api::Pod>(pod_named("p"));
    pods_core.apply(client::Entry(std::shared_ptr<const api::Pod>(pod), pod->metadata, 2));
  }
  static api::Pod pod_named(const std::string& name) {
    api::Pod made;
    made.metadata.ns = "default";
    made.metadata.name = name;
    made.metadata.uid = name + "-uid";
    made.phase = "Pending";
    return made;
  }
  // The pod's claim, with a device on the node.
  void hold(bool reserved) {
    auto claim = std::make_shared<api::ResourceClaim>();
    claim->metadata.ns = "default";
    claim->metadata.name = "c";
    claim->metadata.uid = "c-uid";
    claim->status.allocation.emplace().node_selector =
        api::NodeSelector{{api::NodeSelectorTerm{{}, {{"metadata.name", "In", {"n"}}}}}};
    if (reserved) claim->status.reserved_for.push_back({"", "pods", "p", "p-uid"});
    claims_core.apply(client::Entry(std::shared_ptr<const api::ResourceClaim>(claim), claim->metadata, ++revision));
  }
  bool has_room() { return !tracker.choose(pod_named("other"), {}).nodes.empty(); }

  ManualClock clock;
  uint64_t revision = 2;
  client::ObjectStore pods_core, claims_core;
  client::Store<api::Pod> pods;
  client::Store<api::ResourceClaim> claims;
  Stores stores;
  nodes::NodeTracker tracker;
  inventory::Inventory inventory;
  ClusterAssumptions assumptions;
  std::shared_ptr<api::Pod> pod;
};

TEST_F(AssumptionsTest, APodWhoseBindingFailedKeepsItsPlaceWhereItHasDevices) {
  hold(true);
  const reconcile::Write binding = protocol::write_binding(*pod, "n");
  EXPECT_TRUE(assumptions.assume(binding));
  EXPECT_FALSE(has_room());
  assumptions.forget(binding);
  EXPECT_FALSE(has_room()) << "its devices are on no other node";
}

TEST_F(AssumptionsTest, OneWithoutDevicesThereDoesNot) {
  const reconcile::Write binding = protocol::write_binding(*pod, "n");
  EXPECT_TRUE(assumptions.assume(binding));
  EXPECT_FALSE(has_room());
  assumptions.forget(binding);
  EXPECT_TRUE(has_room());
  hold(false);
  EXPECT_TRUE(assumptions.assume(binding));
  assumptions.forget(binding);
  EXPECT_TRUE(has_room()) << "the claim is not reserved for it";
}

}  // namespace dra::manager::assumptions_test
