// Soft locality: what claims prefer is met where possible, and events report it on the pod and the claim.
#include <gtest/gtest.h>

#include "controllers/allocation/allocation_fixture.h"

namespace dra::allocation::prefer_test {
namespace {

using reconcile::Write;

// n1 has two devices of two NUMA nodes, n2 two of one.
class Prefer : public AllocationTest {
 protected:
  Prefer() {
    for (const char* node : {"n1", "n2"}) {
      api::ResourceSlice slice;
      slice.metadata.name = std::string("slice-") + node;
      slice.driver = "gpu.example.com";
      slice.pool = {node, 1, 1};
      slice.node_name = node;
      for (int i = 0; i < 2; ++i) {
        api::Device device;
        device.name = "gpu-" + std::to_string(i);
        device.attributes["numa"] = int64_t{node == std::string("n1") ? i : 1};
        slice.devices.push_back(device);
      }
      inventory.apply_slice(slice);
    }
  }
  api::ResourceClaim preferring(const std::string& name, const std::string& text, int count) {
    api::ResourceClaim claim = make_claim(name, count);
    claim.metadata.annotations[std::string(allocator::kPreferAnnotation)] = text;
    return claim;
  }
  std::string node_chosen() {
    for (const reconcile::Effect& effect : last.effects)
      if (const Write* write = std::get_if<Write>(&effect); write && write->assume_pod) return write->assume_pod->node;
    return "";
  }
};

TEST_F(Prefer, TheDevicesOfAClaimAgree) {
  view.put(make_pod("p", {"c"}));
  put(make_claim("c", 2));
  ASSERT_EQ(pass(), "allocate c");
  EXPECT_EQ(node_chosen(), "n1");
  put(preferring("c", "same:numa", 2));
  ASSERT_EQ(pass(), "allocate c");
  EXPECT_EQ(node_chosen(), "n2");
  EXPECT_EQ(last.decided->why, "has devices with the same numa");
}

TEST_F(Prefer, TheDevicesOfTwoClaimsAgree) {
  view.put(make_pod("p", {"a", "b"}));
  put(preferring("a", "same:numa", 1));
  put(make_claim("b", 1));
  ASSERT_EQ(pass(), "allocate a, allocate b");
  EXPECT_EQ(node_chosen(), "n1") << "only one of the claims asks";
  put(preferring("b", "same:numa", 1));
  ASSERT_EQ(pass(), "allocate a, allocate b");
  EXPECT_EQ(node_chosen(), "n2");
}

TEST_F(Prefer, WhatCannotBeMetIsSaidAndDoesNotStandInTheWay) {
  nodes.names = {"n1"};
  view.put(make_pod("p", {"c"}));
  put(preferring("c", "same:numa", 2));
  ASSERT_EQ(pass(), "allocate c");
  EXPECT_EQ(node_chosen(), "n1");
  EXPECT_EQ(last.decided->why, "has devices without the same numa, which no node has free for this pod");
}

TEST_F(Prefer, WhatIsNotUnderstoodIsIgnoredAndSaidOnce) {
  view.put(make_pod("p", {"c"}));
  put(preferring("c", "near:numa, same:numa", 2));
  ASSERT_EQ(pass(), "event PreferenceIgnored, allocate c");
  EXPECT_EQ(node_chosen(), "n2");
  EXPECT_EQ(event().regarding.name, "c");
  EXPECT_NE(event().note.find("\"near:numa\""), std::string::npos) << event().note;
  remember();
  EXPECT_EQ(pass(), "allocate c");
}

}  // namespace
}  // namespace dra::allocation::prefer_test
