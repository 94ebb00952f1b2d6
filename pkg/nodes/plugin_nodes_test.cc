#include "pkg/nodes/plugin_nodes.h"

#include <gtest/gtest.h>

#include <memory>

#include "pkg/base/random.h"
#include "pkg/inventory/device_index.h"

namespace dra::nodes::plugin_nodes_test {

using Found = std::map<std::string, inventory::PluginDrivers, std::less<>>;

// The objects of a cluster, and what follows from them.
struct World {
  std::map<std::string, api::Node> nodes;
  std::map<std::string, api::Pod> pods;
  std::map<std::string, api::DeviceClass> classes;
  std::map<std::string, api::ResourceSlice> slices;
};

api::ResourceSlice slice_of(const std::string& name, const std::string& driver, int64_t generation,
                            std::vector<std::string> nodes) {
  api::ResourceSlice slice;
  slice.metadata.name = name;
  slice.driver = driver;
  slice.pool = {name, generation, 1};
  slice.per_device_node_selection = true;
  for (size_t i = 0; i < nodes.size(); ++i) {
    api::Device& device = slice.devices.emplace_back();
    device.name = "d" + std::to_string(i);
    device.node_name = nodes[i];
    device.attributes["kind"] = std::string(i % 2 == 0 ? "gpu" : "nic");
  }
  return slice;
}

api::Pod pod_of(const std::string& name, const std::string& node, const std::string& resource, bool mapped) {
  api::Pod pod;
  pod.metadata.ns = "default";
  pod.metadata.name = pod.metadata.uid = name;
  pod.node_name = node;
  pod.containers.emplace_back().name = "c";
  pod.containers[0].requests[resource] = "1";
  if (mapped) {
    pod.extended_resource_claim_status.emplace().resource_claim_name = "x";
    pod.extended_resource_claim_status->request_mappings.push_back({"c", resource, "r"});
  }
  return pod;
}

identity::Rules rules() {
  identity::Rules rules;
  rules.plugin["b.example.com"] = identity::PluginUse::kDra;
  rules.plugin["c.example.com"] = identity::PluginUse::kApart;
  rules.plugin_resources["a.example.com"] = {"a.example.com/other"};
  return rules;
}

Found made_anew(const World& world) {
  inventory::Inventory inventory;
  SeededRandom random(1);
  allocator::Allocator allocator(inventory, {}, random);
  inventory.device_index().set_identity_rules(rules());
  for (const auto& [name, node] : world.nodes) inventory.apply_node(name, {});
  for (const auto& [name, one] : world.classes) inventory.apply_class(one);
  for (const auto& [name, slice] : world.slices) inventory.apply_slice(slice);
  PluginNodes plugins(inventory, allocator);
  for (const auto& [name, one] : world.classes) plugins.set_class(nullptr, &one);
  for (const auto& [name, node] : world.nodes) plugins.set_node(node);
  for (const auto& [name, pod] : world.pods) plugins.set_pod(pod);
  EXPECT_TRUE(plugins.settle(1000));
  return inventory.device_index().silicon().plugin_nodes();
}

// Whatever changed in between, it knows what it would know of the same objects anew; after each change few nodes are
// judged at a time.
TEST(PluginNodes, KnowWhatTheyWouldKnowOfTheSameAnew) {
  const std::vector<std::string> drivers{"a.example.com", "b.example.com", "c.example.com"};
  const std::vector<std::string> resources{"a.example.com/gpu", "a.example.com/other", "x.example.com/y", "cpu"};
  size_t found_any = 0;
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE(seed);
    SeededRandom random(seed);
    inventory::Inventory inventory;
    allocator::Allocator allocator(inventory, {}, random);
    inventory.device_index().set_identity_rules(rules());
    PluginNodes plugins(inventory, allocator);
    World world;
    const auto node_of = [&] { return "n" + std::to_string(random.below(4)); };
    const auto resource_of = [&] { return resources[random.below(resources.size())]; };
    for (int step = 0; step < 80; ++step) {
      const std::string number = std::to_string(random.below(3));
      switch (random.below(8)) {
        case 0:
        case 1: {
          const std::string name = node_of();
          api::Node& node = world.nodes[name];
          node.metadata.name = name;
          node.allocatable[resource_of()] = std::to_string(random.below(3));
          inventory.apply_node(node.metadata.name, {});
          plugins.set_node(node);
          break;
        }
        case 2:
          if (const std::string name = node_of(); world.nodes.erase(name) > 0) {
            inventory.remove_node(name);
            plugins.remove_node(name);
          }
          break;
        case 3: {
          api::Pod pod =
              pod_of("p" + number, random.below(4) == 0 ? "" : node_of(), resource_of(), random.below(3) == 0);
          if (random.below(5) == 0) pod.phase = "Succeeded";
          world.pods["p" + number] = pod;
          plugins.set_pod(pod);
          break;
        }
        case 4:
          if (world.pods.erase("p" + number) > 0) plugins.remove_pod("p" + number);
          break;
        case 5: {
          const std::string name = "c" + number;
          const auto known = world.classes.find(name);
          std::optional<api::DeviceClass> before;
          if (known != world.classes.end()) before = known->second;
          api::DeviceClass made;
          made.metadata.name = name;
          made.selectors = {"device.driver == \"" + drivers[random.below(3)] + "\""};
          if (random.below(2) == 0) made.selectors.push_back("device.attributes[device.driver].kind == \"gpu\"");
          if (random.below(4) != 0) made.extended_resource_name = resource_of();
          inventory.apply_class(made);
          world.classes[name] = made;
          plugins.set_class(before ? &*before : nullptr, &made);
          break;
        }
        case 6: {
          const std::string name = "s" + number;
          std::vector<std::string> nodes;
          for (uint64_t i = random.below(4); i > 0; --i) nodes.push_back(node_of());
          world.slices[name] =
              slice_of(name, drivers[random.below(3)], static_cast<int64_t>(random.below(3)) + 1, std::move(nodes));
          if (random.below(4) == 0) world.slices[name].pool.name = "shared";
          inventory.apply_slice(world.slices[name]);
          break;
        }
        default:
          if (world.slices.erase("s" + number) > 0) inventory.remove_slice("s" + number);
      }
      while (!plugins.settle(1)) {
      }
      const Found& found = inventory.device_index().silicon().plugin_nodes();
      ASSERT_EQ(found, made_anew(world)) << "step " << step;
      found_any += !found.empty();
    }
  }
  EXPECT_GT(found_any, 100u);
}

TEST(PluginNodes, SayWhatOverlaps) {
  World world;
  inventory::Inventory inventory;
  SeededRandom random(1);
  allocator::Allocator allocator(inventory, {}, random);
  inventory.device_index().set_identity_rules(rules());
  api::DeviceClass made;
  made.metadata.name = "gpu";
  made.extended_resource_name = "example.com/gpu";
  inventory.apply_class(made);
  for (const char* driver : {"a.example.com", "b.example.com"})
    inventory.apply_slice(slice_of(driver, driver, 1, {"n0", "n1"}));
  PluginNodes plugins(inventory, allocator);
  plugins.set_class(nullptr, &made);
  api::Node node;
  node.metadata.name = "n0";
  node.allocatable["example.com/gpu"] = "8";
  plugins.set_node(node);
  plugins.set_pod(pod_of("p", "n0", "example.com/gpu", false));
  plugins.set_pod(pod_of("q", "n1", "example.com/gpu", false));
  ASSERT_TRUE(plugins.settle(10));
  using identity::PluginUse;
  const std::vector<PluginNodes::Overlap> wanted{
      {"n0", "a.example.com", "example.com/gpu", "8", 1, PluginUse::kPlugin, true},
      {"n0", "b.example.com", "example.com/gpu", "8", 1, PluginUse::kDra, true},
      {"n1", "a.example.com", "example.com/gpu", "", 1, PluginUse::kPlugin, true},
      {"n1", "b.example.com", "example.com/gpu", "", 1, PluginUse::kDra, true}};
  EXPECT_EQ(plugins.overlaps(), wanted);
  EXPECT_EQ(inventory.device_index().silicon().plugin_nodes().find("n0")->second.find("b.example.com")->second,
            "the device plugin serves example.com/gpu (allocatable 8, 1 pod); --device-plugin b.example.com is dra");
  plugins.remove_pod("p");
  ASSERT_TRUE(plugins.settle(10));
  EXPECT_FALSE(inventory.device_index().silicon().plugin_nodes().find("n0")->second.contains("b.example.com"));
}

}  // namespace dra::nodes::plugin_nodes_test
