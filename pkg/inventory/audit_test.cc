// The audit compared with this test's own books: it names every over-commitment, and nothing else.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "pkg/base/random.h"
#include "pkg/inventory/inventory.h"

namespace dra::inventory::audit_test {
namespace {

using Key = std::tuple<AuditFinding::Kind, std::string, std::string, std::string>;  // kind, device, set, name

// A pool of plain devices, devices with counters and shared devices; and who got what.
class Books {
 public:
  Books(Inventory& inventory, const std::string& driver, const std::string& pool, Random& random)
      : inventory_(inventory), driver_(driver), pool_(pool) {
    api::ResourceSlice devices;
    devices.metadata.name = driver + "-" + pool;
    devices.driver = driver;
    devices.pool = {pool, 1, 2};
    devices.node_name = "n0";
    api::ResourceSlice counters = devices;
    counters.metadata.name += "-counters";
    counters.shared_counters = {{"set", {{"memory", "10"}, {"slots", "3"}}}};
    for (int d = 0; d < 9; ++d) {
      api::Device& device = devices.devices.emplace_back();
      device.name = "d" + std::to_string(d);
      device.capacity["memory"].value = "8";
      if (d % 3 == 1) {
        const auto memory = static_cast<int64_t>(1 + random.below(5));
        device.consumes_counters = {{"set", {{"memory", std::to_string(memory)}, {"slots", "1"}}}};
        takes_[device.name] = {{"memory", memory}, {"slots", 1}};
      }
      device.allow_multiple_allocations = d % 3 == 2;
    }
    inventory.apply_slice(devices);
    inventory.apply_slice(counters);
  }

  // Gives a device (or 1 to 4 of a shared one) to a new claim; if `careful`, only if that is not too much.
  void give(const std::string& claim, Random& random, bool careful) {
    const auto number = random.below(9);
    const std::string device = "d" + std::to_string(number);
    const bool shared = number % 3 == 2;
    const auto amount = static_cast<int64_t>(1 + random.below(4));
    held_.push_back({claim, device, shared ? amount : 0});
    if (careful && !over_committed().empty()) {
      held_.pop_back();
      return;
    }
    api::AllocationResult result;
    api::DeviceRequestAllocationResult& entry = result.results.emplace_back();
    entry.driver = driver_;
    entry.pool = pool_;
    entry.device = device;
    if (shared) {
      entry.share_id = "share-" + claim;
      entry.consumed_capacity["memory"] = std::to_string(amount);
    }
    random.below(2) == 0 ? inventory_.assume(claim, result) : inventory_.apply_allocation(claim, result);
  }

  std::map<Key, std::vector<std::string>> over_committed() const {
    std::map<Key, std::vector<std::string>> found;
    std::map<std::string, std::set<std::string>> claims;
    std::map<std::string, int64_t> consumed, counters;
    std::map<std::string, std::set<std::string>> counter_claims;
    for (const Held& held : held_) {
      if (claims[held.device].empty())
        for (const auto& [counter, amount] : takes(held.device)) counters[counter] += amount;
      claims[held.device].insert(held.claim);
      consumed[held.device] += held.amount;
      for (const auto& [counter, amount] : takes(held.device)) counter_claims[counter].insert(held.claim);
    }
    auto list = [](const std::set<std::string>& set) { return std::vector<std::string>(set.begin(), set.end()); };
    for (const auto& [device, uids] : claims) {
      const std::string name = driver_ + "/" + pool_ + "/" + device;
      if (consumed[device] == 0 && uids.size() > 1)
        found[{AuditFinding::Kind::kDeviceOverCommitted, name, "", ""}] = list(uids);
      if (consumed[device] > 8) found[{AuditFinding::Kind::kCapacityOverCommitted, name, "", "memory"}] = list(uids);
    }
    for (const auto& [counter, sum] : counters)
      if (sum > (counter == "slots" ? 3 : 10))
        found[{AuditFinding::Kind::kCounterOverCommitted, driver_ + "/" + pool_ + "/", "set", counter}] =
            list(counter_claims[counter]);
    return found;
  }

 private:
  struct Held {
    std::string claim;
    std::string device;
    int64_t amount;  // of a shared device
  };
  std::map<std::string, int64_t> takes(const std::string& device) const {
    auto it = takes_.find(device);
    return it == takes_.end() ? std::map<std::string, int64_t>() : it->second;
  }

  Inventory& inventory_;
  const std::string driver_;
  const std::string pool_;
  std::map<std::string, std::map<std::string, int64_t>> takes_;
  std::vector<Held> held_;
};

// In portions, each finding once; equal to the audit in one call.
std::map<Key, std::vector<std::string>> audited(const Inventory& inventory) {
  std::map<Key, std::vector<std::string>> found, in_pieces;
  std::vector<AuditFinding> findings;
  Inventory::AuditPlace at;
  size_t pieces = 1;
  while (!inventory.audit_piece(at, 5, findings)) ++pieces;
  EXPECT_GT(pieces, 3u);
  for (const AuditFinding& finding : findings)
    EXPECT_TRUE(
        in_pieces.emplace(Key(finding.kind, finding.device.text(), finding.counter_set, finding.name), finding.claims)
            .second);
  for (const AuditFinding& finding : inventory.audit()) {
    found[{finding.kind, finding.device.text(), finding.counter_set, finding.name}] = finding.claims;
    EXPECT_FALSE(finding.message.empty());
  }
  EXPECT_EQ(found, in_pieces);
  return found;
}

TEST(AuditProperty, EveryOverCommitmentIsReportedByNameAndNothingElse) {
  std::set<AuditFinding::Kind> kinds;
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    SeededRandom random(seed);
    Inventory inventory;
    std::vector<Books> books;
    for (const char* driver : {"a", "b"})
      for (const char* pool : {"p", "q"}) books.emplace_back(inventory, driver, pool, random);
    int claim = 0;
    for (int i = 0; i < 40; ++i)
      books[random.below(books.size())].give("c" + std::to_string(claim++), random, /*careful=*/true);
    ASSERT_TRUE(audited(inventory).empty());
    for (int i = 0; i < 12; ++i) {
      books[random.below(books.size())].give("c" + std::to_string(claim++), random, /*careful=*/false);
      std::map<Key, std::vector<std::string>> expected;
      for (const Books& book : books) expected.merge(book.over_committed());
      ASSERT_EQ(audited(inventory), expected);
      for (const auto& [key, claims] : expected) kinds.insert(std::get<0>(key));
    }
  }
  EXPECT_EQ(kinds.size(), 3u);  // a device, a counter and a capacity
}

}  // namespace
}  // namespace dra::inventory::audit_test
