// Drivers whose node is not ready, and taints that outlived what they were for.
#include <gtest/gtest.h>

#include "pkg/inspect/verbs/chain.h"
#include "pkg/inspect/verbs/old_taints.h"
#include "pkg/inspect/verbs/two_nodes_fixture.h"

namespace dra::inspect::gone_drivers_test {
namespace {

constexpr const char* kAdded = "2026-02-01T00:00:00Z";
constexpr const char* kEarlier = "2026-01-01T00:00:00Z";
constexpr const char* kLater = "2026-02-02T00:00:00Z";

void set_node(TwoNodes& world, const std::string& name, const std::string& made, const std::string& ready) {
  auto node = std::make_shared<api::Node>(*world.objects.nodes.at(name));
  node->metadata.creation_timestamp = made;
  node->conditions = {{"Ready", ready, "", "", kLater, 0}};
  world.objects.nodes[name] = node;
}

void add_rule(TwoNodes& world, const std::string& name, const std::string& pool, const std::string& device) {
  auto rule = named_object<api::DeviceTaintRule>("", name);
  rule->has_selector = true;
  rule->driver = "gpu.example.com";
  if (!pool.empty()) rule->pool = pool;
  if (!device.empty()) rule->device = device;
  rule->taint = {"broken", "", "NoExecute", kAdded};
  world.objects.taint_rules[name] = rule;
}

std::string found(const TwoNodes& world) {
  std::string text;
  for (const OldTaint& one : old_taints(world.objects)) text += one.finding + " | " + one.to_do + "\n";
  return text;
}

TEST(GoneDrivers, ANodeThatIsNotReadyIsFlagged) {
  TwoNodes world;
  set_node(world, "a", kEarlier, "Unknown");
  EXPECT_EQ(diagnosed(world.objects, "drivers"),
            "node a is not ready; devices of driver gpu.example.com are still published, and new pods do not get them");
  // The pod runs already: nothing is said of it. One that has not begun waits for the node.
  EXPECT_TRUE(chain_of(State(world.objects, {}), *world.objects.pods.at("ml/run")).broken.empty());
  auto pod = std::make_shared<api::Pod>(*world.objects.pods.at("ml/run"));
  pod->phase = "Pending";
  world.objects.pods["ml/run"] = pod;
  const Chain chain = chain_of(State(world.objects, {}), *pod);
  ASSERT_EQ(chain.broken.size(), 1u);
  EXPECT_EQ(chain.broken[0].kind, Break::kNodeNotReady);
  EXPECT_EQ(chain.broken[0].since, kLater);
  EXPECT_NE(chain.broken[0].text.find("node a is not ready"), std::string::npos) << chain.broken[0].text;
  set_node(world, "a", kEarlier, "True");
  EXPECT_EQ(diagnosed(world.objects, "drivers"), "fine");
  EXPECT_TRUE(chain_of(State(world.objects, {}), *pod).broken.empty());
}

TEST(GoneDrivers, ARuleForWhatIsNotPublishedIsOld) {
  TwoNodes world;
  for (const char* node : {"a", "b"}) set_node(world, node, kEarlier, "True");
  add_rule(world, "stays", "a", "gpu-0");
  add_rule(world, "wide", "", "");
  EXPECT_EQ(found(world), "");
  add_rule(world, "gone", "a", "gpu-7");
  EXPECT_EQ(found(world),
            "DeviceTaintRule gone (broken:NoExecute) taints nothing: device gpu-7 of pool a of driver gpu.example.com "
            "is not published | if it is not needed any more: kubectl delete devicetaintrule gone\n");
  EXPECT_NE(diagnosed(world.objects, "tainted devices").find("DeviceTaintRule gone"), std::string::npos);
  world.objects.hidden.push_back({"resourceslices", "forbidden"});
  EXPECT_EQ(found(world), "") << "what is not seen is not called gone";
}

TEST(GoneDrivers, ATaintOlderThanItsNodeIsOld) {
  TwoNodes world;
  set_node(world, "a", kEarlier, "True");
  set_node(world, "b", kEarlier, "True");
  add_rule(world, "rule", "a", "");
  auto slice = std::make_shared<api::ResourceSlice>(*world.objects.slices.at("b-gpus"));
  slice->devices[0].taints = {{"sick", "yes", "NoSchedule", kAdded}, {"said", "", "None", kAdded}};
  slice->devices[1].taints = {{"sick", "yes", "NoSchedule", kAdded}};
  world.objects.slices["b-gpus"] = slice;
  EXPECT_EQ(found(world), "");
  set_node(world, "a", kLater, "True");
  EXPECT_EQ(found(world),
            "DeviceTaintRule rule (broken:NoExecute) is older than node a, whose devices it taints: added "
            "2026-02-01T00:00:00Z, and the node was made 2026-02-02T00:00:00Z | see whether it was for the machine "
            "before; if it is not needed any more: kubectl delete devicetaintrule rule\n");
  world.objects.taint_rules.clear();
  set_node(world, "b", kLater, "True");
  EXPECT_EQ(found(world),
            "driver gpu.example.com publishes the taint sick=yes:NoSchedule of device gpu-0 since "
            "2026-02-01T00:00:00Z, and its node b was made 2026-02-02T00:00:00Z | see what the log of driver "
            "gpu.example.com on node b says about the device: only the driver removes the taint\n")
      << "once for a driver, node and taint";
}

}  // namespace
}  // namespace dra::inspect::gone_drivers_test
