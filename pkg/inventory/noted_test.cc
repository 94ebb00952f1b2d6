// What is noted on claims of others' allocations: from slices while they are there, kept when they go, never of what
// the allocation itself records, and bounded.
#include "pkg/inventory/noted.h"

#include <gtest/gtest.h>

#include "pkg/inventory/inventory.h"
#include "test/support/objects.h"
#include "test/support/slice_on_buses.h"

namespace dra::inventory::noted_test {
namespace {

using test::kBus;

class Noted : public testing::Test {
 protected:
  Noted() {
    identity::Rules rules;
    rules.annotations = true;
    inventory.device_index().set_identity_rules(rules);
    publish("x.example.com", {"0000:1a:00.0", "0000:3b:00.0"});
    publish("y.example.com", {"0000:1a:00.0", "0000:3b:00.0"});
    claim = test::named<api::ResourceClaim>("c");
    claim.status.allocation.emplace().results.push_back({"r", "x.example.com", "a", "d0"});
  }
  void publish(const std::string& driver, const std::vector<std::string>& buses) {
    inventory.apply_slice(test::slice_on_buses(driver, buses));
  }
  std::string wanted() const { return identities_to_note(inventory.device_index(), claim); }
  void note(const std::string& value) {
    claim.metadata.annotations[std::string(identity::kIdentitiesAnnotation)] = value;
  }
  identity::Records records() const {
    identity::Records records;
    EXPECT_TRUE(identity::decode_records(wanted(), records)) << wanted();
    return records;
  }
  bool free(const std::string& device) const { return inventory.device({"y.example.com", "a", device})->available; }

  Inventory inventory;
  api::ResourceClaim claim;
};

TEST_F(Noted, WhatIsWithdrawnStaysInUse) {
  const std::string value = wanted();
  EXPECT_EQ(records(), (identity::Records{{"x.example.com/a/d0", {{"pci 0000:1a:00.0"}, {}, "a", {}, false}}}));
  note(value);
  inventory.apply_claim(claim);
  EXPECT_FALSE(free("d0"));
  inventory.remove_slice("x.example.com");
  EXPECT_FALSE(free("d0")) << "the driver has withdrawn it, and a pod uses it";
  EXPECT_TRUE(free("d1"));
  EXPECT_EQ(wanted(), value) << "nothing is to be written again";
  publish("x.example.com", {"0000:3b:00.0"});
  EXPECT_EQ(wanted(), value) << "what was noted first counts, whatever the name means now";
  inventory.apply_claim(claim);
  EXPECT_FALSE(free("d0"));
  EXPECT_FALSE(free("d1")) << "and what it publishes now";
  claim.status.allocation.reset();
  inventory.apply_claim(claim);
  EXPECT_TRUE(free("d0"));
  EXPECT_EQ(wanted(), "") << "no allocation, no note";
}

// Crash between allocation and note, with the device gone: nothing can be known, and that is said.
TEST_F(Noted, WhatNobodySawIsNamed) {
  inventory.remove_slice("x.example.com");
  inventory.apply_claim(claim);
  EXPECT_EQ(wanted(), "");
  EXPECT_TRUE(free("d0"));
  ASSERT_EQ(inventory.device_index().silicon().findings().unknown.size(), 1u);
}

TEST_F(Noted, OnlyWhereTheAllocationRecordsNothing) {
  note(R"({"devices": {"x.example.com/a/d0": {"is": ["pci 0000:3b:00.0"], "node": "a"}}})");
  for (std::string& text :
       identity::encode_records({{"x.example.com/a/d0", {{"pci 0000:1a:00.0"}, {}, "a", {}, false}}}))
    claim.status.allocation->config.push_back(
        {"FromClass", {}, api::OpaqueConfig{std::string(identity::kRecordDriver), std::move(text)}});
  inventory.apply_claim(claim);
  EXPECT_TRUE(free("d1")) << "the entry counts, not the annotation";
  EXPECT_EQ(wanted(), "");
}

TEST_F(Noted, NothingIsReadUnlessAnnotationsAreSafe) {
  inventory.device_index().set_identity_rules(identity::Rules());
  note(R"({"devices": {"x.example.com/a/d0": {"is": ["pci 0000:3b:00.0"], "node": "a"}}})");
  inventory.apply_claim(claim);
  EXPECT_TRUE(free("d1"));
}

// Whoever wrote it, the next text is ours and stays.
TEST_F(Noted, WhatIsNoRecordIsReplaced) {
  const std::string good = wanted();
  for (const char* text : {"", "{", "[]", R"({"devices": {"x.example.com/a/d0": 1}})",
                           R"({"devices": {"z.example.com/a/d0": {"is": ["pci 0000:3b:00.0"]}}})"}) {
    note(text);
    EXPECT_EQ(wanted(), good) << text;
  }
}

TEST_F(Noted, AdminAccessAndDevicesWithoutValuesAreLeftOut) {
  claim.status.allocation->results[0].admin_access = true;
  EXPECT_EQ(wanted(), "");
  publish("x.example.com", {""});
  claim.status.allocation->results[0].admin_access = false;
  EXPECT_EQ(wanted(), "");
}

TEST_F(Noted, AClassThatSharesItsSiliconIsNotedSo) {
  api::DeviceClass shared = test::named<api::DeviceClass>("shared");
  shared.metadata.annotations[std::string(identity::kSharedSiliconAnnotation)] = "true";
  inventory.apply_class(shared);
  api::DeviceRequest& request = claim.spec.requests.emplace_back();
  request.name = "r";
  request.exactly.emplace().device_class_name = "shared";
  EXPECT_TRUE(records().begin()->second.shared);
  claim.status.allocation->results.push_back({"other", "x.example.com", "a", "d0"});
  EXPECT_FALSE(records().begin()->second.shared) << "another request of the claim takes it, too";
}

TEST_F(Noted, ItIsBounded) {
  const std::string name(200, 'n');
  api::ResourceSlice slice;
  slice.metadata.name = slice.driver = "x.example.com";
  slice.pool = {"a", 2, 1};
  slice.node_name = "a";
  claim.status.allocation->results.clear();
  for (int i = 0; i < 100; ++i) {
    slice.devices.emplace_back().name = name + std::to_string(i);
    slice.devices.back().attributes[kBus] = "00" + std::to_string(10 + i % 80) + ":00:1f." + std::to_string(i % 8);
    claim.status.allocation->results.push_back({"r", "x.example.com", "a", slice.devices.back().name});
  }
  inventory.apply_slice(slice);
  const std::string value = wanted();
  EXPECT_LE(value.size(), identity::kMaxAnnotationBytes);
  EXPECT_GT(records().size(), 40u);
  note(value);
  EXPECT_EQ(wanted(), value) << "written once";
}

}  // namespace
}  // namespace dra::inventory::noted_test
