// Random pools with counters: the claims that an explanation names for devices that are short of a counter hold devices
// that take of that counter, and of all counters that have enough left nobody is named.
// DRA_SEED picks another start.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <map>
#include <set>

#include "pkg/allocator/allocator.h"
#include "pkg/base/random.h"

namespace dra::allocator::holders_test {
namespace {

constexpr int kCards = 3, kCounters = 4;

// A partition takes some of the counters of its card; who holds it, if anybody.
struct Part {
  std::string name, holder;
  int card = 0;
  std::map<std::string, int> takes;
};
struct World {
  int total = 4;  // of each counter
  std::vector<Part> parts;

  int left(int card, const std::string& counter) const {
    int used = 0;
    for (const Part& part : parts)
      if (part.card == card && !part.holder.empty())
        if (const auto taken = part.takes.find(counter); taken != part.takes.end()) used += taken->second;
    return total - used;
  }
  // The counters of its card that have less left than the part takes.
  std::set<std::string> missing(const Part& part) const {
    std::set<std::string> names;
    for (const auto& [counter, amount] : part.takes)
      if (left(part.card, counter) < amount) names.insert(counter);
    return names;
  }
};

World random_world(uint64_t seed) {
  SeededRandom random(seed);
  World world;
  for (int i = 0; i < 14; ++i) {
    Part& part = world.parts.emplace_back();
    part.name = "p" + std::to_string(i);
    part.card = static_cast<int>(random.below(kCards));
    for (int c = 0; c < kCounters; ++c)
      if (random.below(2) == 0) part.takes["c" + std::to_string(c)] = static_cast<int>(1 + random.below(4));
    if (part.takes.empty()) part.takes["c0"] = 1;
    const bool fits = std::all_of(part.takes.begin(), part.takes.end(),
                                  [&](const auto& one) { return world.left(part.card, one.first) >= one.second; });
    if (fits && random.below(3) != 0) part.holder = "h" + std::to_string(i);
  }
  return world;
}

api::ResourceSlice slice_named(const std::string& name) {
  api::ResourceSlice slice;
  slice.metadata.name = name;
  slice.driver = "drv";
  slice.pool = {"n0", 1, 2};
  slice.node_name = "n0";
  return slice;
}

void fill(inventory::Inventory& inventory, const World& world) {
  api::DeviceClass of_parts;
  of_parts.metadata.name = "part";
  of_parts.selectors = {"device.driver == \"drv\""};
  inventory.apply_class(of_parts);
  api::ResourceSlice counters = slice_named("counters"), parts = slice_named("parts");
  for (int card = 0; card < kCards; ++card) {
    auto& set = counters.shared_counters.emplace_back();
    set.name = "card-" + std::to_string(card);
    for (int c = 0; c < kCounters; ++c) set.counters["c" + std::to_string(c)] = std::to_string(world.total);
  }
  for (const Part& part : world.parts) {
    api::Device& device = parts.devices.emplace_back();
    device.name = part.name;
    auto& use = device.consumes_counters.emplace_back();
    use.counter_set = "card-" + std::to_string(part.card);
    for (const auto& [counter, amount] : part.takes) use.counters[counter] = std::to_string(amount);
  }
  inventory.apply_slice(counters);
  inventory.apply_slice(parts);
  for (const Part& part : world.parts) {
    if (part.holder.empty()) continue;
    api::AllocationResult result;
    result.results.push_back({"r", "drv", "n0", part.name});
    inventory.apply_allocation(part.holder, result);
  }
}

// Claims of the card that take of one of these counters.
std::set<std::string> takers(const World& world, int card, const std::set<std::string>& counters) {
  std::set<std::string> names;
  for (const Part& part : world.parts)
    if (part.card == card && !part.holder.empty())
      for (const auto& [counter, amount] : part.takes)
        if (counters.contains(counter)) names.insert(part.holder);
  return names;
}

// What the explanation may name under "card-1/c2": who is in the way of a free part that is short of c2 first.
std::map<std::string, std::set<std::string>> expected(const World& world) {
  std::map<std::string, std::set<std::string>> by_counter;
  for (const Part& part : world.parts) {
    const std::set<std::string> missing = world.missing(part);
    if (!part.holder.empty() || missing.empty()) continue;
    for (const std::string& counter : missing)
      by_counter["card-" + std::to_string(part.card) + "/" + counter].merge(takers(world, part.card, missing));
  }
  return by_counter;
}

TEST(Holders, OfCountersAreThoseThatTakeOfThem) {
  const char* text = std::getenv("DRA_SEED");
  const uint64_t first = text != nullptr ? std::strtoull(text, nullptr, 10) : 1;
  size_t groups = 0, holders = 0;
  for (uint64_t seed = first; seed < first + 300; ++seed) {
    SCOPED_TRACE("DRA_SEED=" + std::to_string(seed));
    const World world = random_world(seed);
    inventory::Inventory inventory(inventory::Features::all());
    fill(inventory, world);
    SeededRandom random(1);
    Allocator allocator(inventory, {}, random);
    auto claim = std::make_shared<api::ResourceClaim>();
    claim->metadata.ns = "ns";
    claim->metadata.name = claim->metadata.uid = "c";
    api::DeviceRequest& request = claim->spec.requests.emplace_back();
    request.name = "r";
    request.exactly.emplace().device_class_name = "part";
    request.exactly->count = 14;
    const inventory::NodeId node = inventory.node_id("n0");
    std::map<std::string, std::set<std::string>> allowed = expected(world);
    for (const bool everywhere : {true, false}) {
      ExplainScope scope;
      scope.everywhere = everywhere;
      scope.passed = std::span<const inventory::NodeId>(&node, 1);
      const Reasons reasons = allocator.explain({{claim}}, scope);
      for (const CauseCount& count : reasons.requests.at(0).counts) {
        if (count.cause != Cause::kCounterShort) continue;
        ++groups;
        EXPECT_FALSE(count.holders.empty()) << count.detail;
        for (const HeldBy& held : count.holders) {
          ++holders;
          EXPECT_TRUE(allowed[count.detail].contains(held.claim_uid)) << count.detail << ": " << held.claim_uid;
        }
      }
    }
    if (testing::Test::HasFailure()) return;
  }
  std::cout << groups << " counters that are short, " << holders << " holders named\n";
  EXPECT_GT(groups, 300u);
}

}  // namespace
}  // namespace dra::allocator::holders_test
