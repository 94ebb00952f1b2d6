#include "pkg/inventory/device_values.h"

#include <gtest/gtest.h>

#include "pkg/inventory/inventory.h"
#include "pkg/inventory/value_code.h"

namespace dra::inventory::device_values_test {
namespace {

using Codes = std::vector<std::string>;

Codes of_number(int64_t number) {
  return {encode_value(number)};
}

api::ResourceSlice slice_of(const std::string& node, int64_t root) {
  api::ResourceSlice slice;
  slice.metadata.name = node;
  slice.driver = "d.example.com";
  slice.pool = {"p", 1, 2};
  slice.node_name = node;
  slice.devices.emplace_back().name = "gpu-0";
  slice.devices.back().attributes["example.com/root"] = root;
  return slice;
}

api::AllocationResult on(const std::string& node) {
  api::AllocationResult allocation;
  allocation.results.push_back({"r", "d.example.com", "p", "gpu-0"});
  allocation.node_selector = api::NodeSelector{{{{}, {{"metadata.name", "In", {node}}}}}};
  return allocation;
}

// One pool whose nodes name their devices alike: the allocation says which one is meant.
TEST(DeviceValues, AreThoseOfTheNode) {
  Inventory inventory;
  for (const auto& [node, root] : {std::pair{"n1", 1}, {"n2", 2}}) {
    inventory.apply_node(node, {});
    inventory.apply_slice(slice_of(node, root));
  }
  const DeviceIndex& index = inventory.device_index();
  const auto values = [&](const std::string& node) {
    const api::AllocationResult allocation = on(node);
    return device_values(index, allocation, allocation.results.front(), "example.com/root");
  };
  EXPECT_EQ(values("n1"), of_number(1));
  EXPECT_EQ(values("n2"), of_number(2));
  EXPECT_EQ(device_values(index, "d.example.com", "p", "gpu-0", "example.com/root"), of_number(1));
  EXPECT_EQ(device_values(index, "d.example.com", "p", "gpu-0", "example.com/none"), Codes());
  EXPECT_EQ(device_values(index, "d.example.com", "p", "gpu-7", "example.com/root"), std::nullopt);
  // The node's own slice is gone, and the other one's device is another device.
  api::ResourceSlice without = slice_of("n2", 2);
  without.devices.front().name = "gpu-1";
  inventory.apply_slice(without);
  EXPECT_EQ(values("n2"), std::nullopt);
}

}  // namespace
}  // namespace dra::inventory::device_values_test
