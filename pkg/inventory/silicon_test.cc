// Two names of one piece of silicon, both held: the audit and P2 of the proof find them, from records where slices say
// nothing, and nothing else is found.
#include <gtest/gtest.h>

#include "pkg/identity/record.h"
#include "pkg/inventory/device_index.h"
#include "pkg/inventory/inventory.h"
#include "test/support/slice_on_buses.h"

namespace dra::inventory::silicon_test {
namespace {

using test::kBus;

void publish(Inventory& inventory, const std::string& driver, const std::vector<std::string>& buses) {
  inventory.apply_slice(test::slice_on_buses(driver, buses));
}

api::AllocationResult of(const std::string& driver, const std::string& device,
                         const std::optional<identity::Record>& record = {}) {
  api::AllocationResult result;
  auto& entry = result.results.emplace_back();
  entry.request = "r";
  entry.driver = driver;
  entry.pool = "a";
  entry.device = device;
  if (!record) return result;
  for (std::string& text : identity::encode_records({{driver + "/a/" + device, *record}}))
    result.config.push_back(
        {"FromClass", {}, api::OpaqueConfig{std::string(identity::kRecordDriver), std::move(text)}});
  return result;
}

identity::Record bus(const std::string& text, bool shared = false) {
  return {{"pci " + text}, {}, "a", {}, shared};
}

std::vector<std::string> asked(const Inventory& inventory, const std::string& claim, Layer layer) {
  std::vector<std::string> messages;
  const std::vector<std::string> uids{claim};
  for (const AuditFinding& finding : inventory.over_commitments(uids, layer)) messages.push_back(finding.message);
  return messages;
}

TEST(Silicon, TwoHeldNamesAreAnOverCommitment) {
  Inventory inventory;
  publish(inventory, "x.example.com", {"0000:1a:00.0", "0000:3b:00.0"});
  publish(inventory, "y.example.com", {"1A:00.0", ""});
  inventory.apply_allocation("one", of("x.example.com", "d0"));
  inventory.apply_allocation("other", of("x.example.com", "d1"));
  EXPECT_TRUE(inventory.audit().empty());
  inventory.apply_allocation("two", of("y.example.com", "d0"));
  const std::vector<AuditFinding> findings = inventory.audit();
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(
      findings[0].message,
      "device x.example.com/a/d0 is held, and is the same hardware as y.example.com/a/d0 (pci 0000:1a:00.0), which "
      "is held too");
  EXPECT_EQ(findings[0].claims, (std::vector<std::string>{"one", "two"}));
  EXPECT_EQ(asked(inventory, "two", Layer::kObserved).size(), 1u);
  EXPECT_TRUE(asked(inventory, "other", Layer::kObserved).empty());
  inventory.remove_claim("one");
  EXPECT_TRUE(inventory.audit().empty());
}

// The driver has withdrawn both names: the records are enough.
TEST(Silicon, RecordsAreEnoughForTheProof) {
  Inventory inventory;
  inventory.apply_node("a", api::StringMap());
  inventory.apply_allocation("one", of("x.example.com", "d0", bus("0000:1a:00.0")));
  inventory.apply_allocation("two", of("y.example.com", "d0", bus("0000:1a:00.0")));
  EXPECT_EQ(asked(inventory, "one", Layer::kObserved).size(), 1u);
  EXPECT_EQ(inventory.audit().size(), 1u);
  inventory.apply_allocation("two", of("y.example.com", "d0", bus("0000:1a:00.0", true)));
  EXPECT_TRUE(inventory.audit().empty()) << "it shares";
  inventory.apply_allocation("two", of("y.example.com", "d0", bus("0000:3b:00.0")));
  EXPECT_TRUE(inventory.audit().empty());
  inventory.assume("two", of("y.example.com", "d1", bus("0000:1a:00.0")));
  EXPECT_EQ(asked(inventory, "one", Layer::kAll).size(), 1u);
  EXPECT_TRUE(asked(inventory, "one", Layer::kObserved).empty()) << "a decision is not seen by P2";
}

// A device with a share that excludes nobody, and one that does but recorded nothing: what the first recorded is no
// conflict of the second, which was given out by what is published.
TEST(Silicon, ARecordThatExcludesNobodyIsNoConflictOfAnotherShare) {
  Inventory inventory;
  api::ResourceSlice slice;
  slice.metadata.name = slice.driver = "x.example.com";
  slice.pool = {"a", 1, 1};
  slice.node_name = "a";
  slice.devices.emplace_back().name = "d0";
  slice.devices[0].allow_multiple_allocations = true;
  inventory.apply_slice(slice);
  const auto share = [](const std::string& id, const std::optional<identity::Record>& record) {
    api::AllocationResult result = of("x.example.com", "d0", record);
    result.results[0].share_id = id;
    return result;
  };
  inventory.apply_allocation("one", share("1", bus("0000:1a:00.0", true)));
  inventory.apply_allocation("two", of("y.example.com", "d0", bus("0000:1a:00.0")));
  inventory.assume("three", share("2", {}));
  EXPECT_TRUE(inventory.audit().empty());
  EXPECT_TRUE(asked(inventory, "three", Layer::kAll).empty()) << "it would be withdrawn and given out again, forever";
  inventory.assume("three", share("2", bus("0000:1a:00.0")));
  EXPECT_EQ(asked(inventory, "three", Layer::kAll).size(), 1u);
}

// A claim's own config and a class's entry of another source never count.
TEST(Silicon, OnlyEntriesOfTheAllocationCount) {
  Inventory inventory;
  publish(inventory, "y.example.com", {"0000:1a:00.0"});
  api::AllocationResult forged = of("x.example.com", "d0", bus("0000:1a:00.0"));
  forged.config[0].source = "FromClaim";
  inventory.apply_allocation("one", forged);
  EXPECT_TRUE(inventory.device({"y.example.com", "a", "d0"})->available);
  inventory.apply_allocation("one", of("x.example.com", "d0", bus("0000:1a:00.0")));
  EXPECT_FALSE(inventory.device({"y.example.com", "a", "d0"})->available);
}

// A composite device's claim, and the claims that it owns for the parts.
TEST(Silicon, AClaimAndTheClaimsThatItOwnHoldTogether) {
  Inventory inventory;
  publish(inventory, "x.example.com", {"0000:1a:00.0"});
  publish(inventory, "y.example.com", {"0000:1a:00.0"});
  const auto claim = [](const std::string& uid, const std::string& driver, const std::string& owner) {
    api::ResourceClaim made;
    made.metadata.uid = uid;
    if (!owner.empty()) made.metadata.owner_references = {{"resource.k8s.io/v1", "ResourceClaim", "c", owner, true}};
    made.status.allocation = of(driver, "d0");
    return made;
  };
  inventory.apply_claim(claim("whole", "x.example.com", ""));
  inventory.apply_claim(claim("part", "y.example.com", "whole"));
  EXPECT_TRUE(inventory.audit().empty());
  EXPECT_TRUE(asked(inventory, "part", Layer::kObserved).empty());
  EXPECT_TRUE(asked(inventory, "whole", Layer::kObserved).empty());
  EXPECT_TRUE(
      inventory.device_index().silicon().why_excluded(*inventory.device_index().find_pool("y.example.com", "a"), 0))
      << "decisions make no use of it";
  inventory.apply_claim(claim("part", "y.example.com", "another"));
  ASSERT_EQ(inventory.audit().size(), 1u);
  EXPECT_EQ(inventory.audit()[0].kind, AuditFinding::Kind::kDeviceConflict);
}

// Whoever asks first, the finding has one name.
TEST(Silicon, AConflictHasOneNameWhoeverAsks) {
  Inventory inventory;
  publish(inventory, "x.example.com", {"0000:1a:00.0"});
  publish(inventory, "y.example.com", {"0000:1a:00.0"});
  inventory.apply_allocation("one", of("x.example.com", "d0"));
  inventory.apply_allocation("two", of("y.example.com", "d0"));
  const std::vector<std::string> all = asked(inventory, "one", Layer::kObserved);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(asked(inventory, "two", Layer::kObserved), all);
  EXPECT_EQ(inventory.audit().at(0).message, all[0]);
  EXPECT_EQ(inventory.audit().at(0).device.text(), "x.example.com/a/d0");
}

// A driver that publishes one value again and again costs no more than comparing kMaxPairs of its names, and what it
// publishes goes to nobody.
TEST(Silicon, TooManyNamesOfOneValueAreGivenToNobody) {
  constexpr size_t kPools = 40, kDevices = 128;
  Inventory inventory;
  const auto flood = [&](size_t pool, const std::string& driver) {
    api::ResourceSlice slice;
    slice.metadata.name = driver + "-" + std::to_string(pool);
    slice.driver = driver;
    slice.pool = {"p" + std::to_string(pool), 1, 1};
    slice.node_name = "a";
    for (size_t i = 0; i < kDevices; ++i) {
      api::Device& device = slice.devices.emplace_back();
      device.name = "d" + std::to_string(i);
      device.attributes[kBus] = std::string("0000:1a:00.0");
    }
    inventory.apply_slice(slice);
  };
  publish(inventory, "honest.example.com", {"0000:1a:00.0", "0000:3b:00.0"});
  for (size_t pool = 0; pool < 3; ++pool) flood(pool, "x.example.com");
  const DeviceIndex& index = inventory.device_index();
  const NodeId node = index.find_node("a");
  const auto available = [&](const std::string& driver, const std::string& pool, uint32_t device) {
    return test_bit(index.find_pool(driver, pool)->available(false), device);
  };
  EXPECT_EQ(index.silicon().rivals(node).size(), 3 * kDevices * kDevices + 3 * kDevices);
  EXPECT_TRUE(available("x.example.com", "p0", 5));
  for (size_t pool = 3; pool < kPools; ++pool) flood(pool, "x.example.com");
  EXPECT_LE(index.silicon().rivals(node).size(), Silicon::kMaxPairs);
  for (const char* pool : {"p0", "p39"}) EXPECT_FALSE(available("x.example.com", pool, 5));
  EXPECT_FALSE(available("honest.example.com", "a", 0));
  EXPECT_TRUE(available("honest.example.com", "a", 1)) << "of another value";
  const auto why = index.silicon().why_excluded(*index.find_pool("honest.example.com", "a"), 0);
  ASSERT_TRUE(why);
  EXPECT_EQ(why->value, "pci 0000:1a:00.0, which 5121 devices publish: too many to tell apart");
  EXPECT_EQ(why->holder.text(), "x.example.com/p0/d0");
  for (size_t pool = 3; pool < kPools; ++pool) inventory.remove_slice("x.example.com-" + std::to_string(pool));
  EXPECT_TRUE(available("honest.example.com", "a", 0));
  // In one pool the pool's own model decides, however many there are.
  publish(inventory, "vf.example.com", std::vector<std::string>(128, "0000:5c:00.0"));
  EXPECT_TRUE(available("vf.example.com", "a", 127));
}

}  // namespace
}  // namespace dra::inventory::silicon_test
