// Two names of one piece of silicon, both held: the audit and P2 of the proof find them, from records where slices say
// nothing, and nothing else is found.
#include <gtest/gtest.h>

#include "pkg/identity/record.h"
#include "pkg/inventory/device_index.h"
#include "pkg/inventory/inventory.h"

namespace dra::inventory::silicon_test {
namespace {

constexpr const char* kBus = "resource.kubernetes.io/pciBusID";

void publish(Inventory& inventory, const std::string& driver, const std::vector<std::string>& buses) {
  api::ResourceSlice slice;
  slice.metadata.name = driver;
  slice.driver = driver;
  slice.pool = {"a", 1, 1};
  slice.node_name = "a";
  for (const std::string& bus : buses) {
    api::Device& device = slice.devices.emplace_back();
    device.name = "d" + std::to_string(slice.devices.size() - 1);
    if (!bus.empty()) device.attributes[kBus] = bus;
  }
  inventory.apply_slice(slice);
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

}  // namespace
}  // namespace dra::inventory::silicon_test
