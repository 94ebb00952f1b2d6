// Features: the meaning of a release, the operator's choice, and that neither interferes with the other.
#include "pkg/inventory/features.h"

#include <gtest/gtest.h>

#include "pkg/inventory/inventory.h"

namespace dra::inventory::features_test {
namespace {

TEST(Features, MinorVersionIsReadFromWhatServersSay) {
  EXPECT_EQ(minor_version("1.37"), 37);
  EXPECT_EQ(minor_version("v1.37.0-beta.0"), 37);
  EXPECT_EQ(minor_version("v1.36.2-eks-1234"), 36);
  EXPECT_EQ(minor_version("v1.36+"), 36);
  for (const char* text : {"", "v", "1", "1.", "v1.x", "2.37", "37", "v1.-3", "v1.99999999999999999999"})
    EXPECT_EQ(minor_version(text), std::nullopt) << text;
}

TEST(Features, FollowTheRelease) {
  for (const char* text : {"", "nonsense", "v1.34.1", "v1.36.2"}) {
    const Features features = features_of_release(text);
    EXPECT_FALSE(features.selectors_of_137) << text;
    EXPECT_FALSE(features.fractional_ranges) << text;
    EXPECT_TRUE(features.list_attributes) << text;
  }
  // A default 1.37 cluster has fractional ranges off, and no client can see that it is otherwise.
  EXPECT_TRUE(features_of_release("v1.37.0").selectors_of_137);
  EXPECT_FALSE(features_of_release("v1.37.0").fractional_ranges);
  EXPECT_FALSE(features_of_release("v1.37.0").either_capacity_name);
  EXPECT_FALSE(features_of_release("v1.37.0").incomplete_pool_excludes_node);
  for (const char* text : {"v1.38.0-alpha.2", "v1.39.0", "v1.50.1"}) {
    EXPECT_TRUE(features_of_release(text).selectors_of_137) << text;
    EXPECT_TRUE(features_of_release(text).fractional_ranges) << text;
    EXPECT_TRUE(features_of_release(text).either_capacity_name) << text;
    EXPECT_TRUE(features_of_release(text).incomplete_pool_excludes_node) << text;
  }
  for (const char* text : {"v1.36.2", "v1.37.0", "v1.38.0"}) {
    EXPECT_FALSE(features_of_release(text).compatibility_groups) << text;
    EXPECT_FALSE(features_of_release(text).derived_attributes) << text;
    EXPECT_FALSE(features_of_release(text).optional_node_operations) << text;
    EXPECT_FALSE(is_newer_than_known(text)) << text;
  }
  EXPECT_TRUE(is_newer_than_known("v1.39.0"));
  EXPECT_FALSE(is_newer_than_known("nonsense"));
}

TEST(Features, TheGatesOf137AreTurnedOnByName) {
  const auto choice = FeatureChoice::parse(
      "DRADeviceCompatibilityGroups=true,DRADerivedAttributes=true,DRAOptionalNodeOperations=true,"
      "DRAFractionalCapacityRange=true,DRAPartitionableDevicesType=true",
      "");
  ASSERT_TRUE(choice) << choice.error().message();
  const Features features = choice->on("v1.37.0");
  EXPECT_TRUE(features.compatibility_groups && features.derived_attributes && features.optional_node_operations &&
              features.fractional_ranges);
  EXPECT_TRUE(FeatureChoice::parse("", "1.38"));
  EXPECT_FALSE(FeatureChoice::parse("", "1.39"));
}

TEST(Features, WhatIsSaidWinsOverTheServer) {
  const auto choice = FeatureChoice::parse("DRAFractionalCapacityRange=false, DRAListTypeAttributes=false", "");
  ASSERT_TRUE(choice);
  EXPECT_FALSE(choice->on("v1.38.0").fractional_ranges);
  EXPECT_FALSE(choice->on("v1.37.0").list_attributes);
  EXPECT_TRUE(choice->on("v1.37.0").selectors_of_137);
  EXPECT_EQ(choice->said(&Features::list_attributes), false);
  EXPECT_EQ(choice->said(&Features::admin_access), std::nullopt);

  const auto pinned = FeatureChoice::parse("", "1.37");
  ASSERT_TRUE(pinned);
  EXPECT_TRUE(pinned->on("v1.36.2").selectors_of_137);
  EXPECT_EQ(FeatureChoice(Features::none()).on("v1.37.0"), Features::none());
  EXPECT_EQ(FeatureChoice(Features::none()).said(&Features::device_taints), false);
}

TEST(Features, WhatCannotBeReadIsNamed) {
  const auto version = FeatureChoice::parse("", "thirty-seven");
  ASSERT_FALSE(version);
  EXPECT_NE(version.error().message().find("\"thirty-seven\""), std::string::npos);
  const auto gate = FeatureChoice::parse("DRANonsense=true", "");
  ASSERT_FALSE(gate);
  EXPECT_NE(gate.error().message().find("\"DRANonsense\""), std::string::npos);
}

TEST(Features, AReleaseMayBecomeKnownAfterTheSlices) {
  Inventory inventory(features_of_release(""));
  api::ResourceSlice slice;
  slice.metadata.name = "s";
  slice.driver = "d.example.com";
  slice.pool = {"p", 1, 1};
  slice.all_nodes = true;
  slice.devices.emplace_back().name = "x";
  inventory.apply_slice(slice);
  inventory.set_features(features_of_release("v1.37.0"));
  EXPECT_TRUE(inventory.features().selectors_of_137);
  inventory.remove_slice("s");
  inventory.apply_slice(slice);
  EXPECT_EQ(inventory.device_count(), 1u);
}

// DRAConsumableCapacity is switched off in the server while shared devices are published: the slices keep them, but the
// server drops the share of a new allocation when it is written.
TEST(Features, AnAllocationWhoseShareTheServerDroppedHoldsTheWholeDevice) {
  Inventory inventory;
  api::ResourceSlice slice;
  slice.metadata.name = "s";
  slice.driver = "d.example.com";
  slice.pool = {"p", 1, 1};
  slice.all_nodes = true;
  api::Device& device = slice.devices.emplace_back();
  device.name = "x";
  device.allow_multiple_allocations = true;
  device.capacity["memory"].value = "10";
  inventory.apply_slice(slice);
  const auto claim = [](const std::string& uid, const std::string& share) {
    api::ResourceClaim made;
    made.metadata.uid = made.metadata.name = uid;
    api::DeviceRequestAllocationResult& result = made.status.allocation.emplace().results.emplace_back();
    result = {"r", "d.example.com", "p", "x"};
    if (!share.empty()) {
      result.share_id = share;
      result.consumed_capacity["memory"] = "1";
    }
    return made;
  };
  inventory.apply_claim(claim("a", "share-a"));
  inventory.apply_claim(claim("b", "share-b"));
  EXPECT_TRUE(inventory.over_commitments(std::vector<std::string>{"a", "b"}, Layer::kObserved).empty());
  EXPECT_EQ(inventory.pools().at(0).available, 1u);
  inventory.apply_claim(claim("c", ""));
  EXPECT_FALSE(inventory.over_commitments(std::vector<std::string>{"c"}, Layer::kObserved).empty());
  EXPECT_EQ(inventory.pools().at(0).available, 0u) << "nothing more is handed out of it";
}

}  // namespace
}  // namespace dra::inventory::features_test
