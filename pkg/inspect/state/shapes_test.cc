// What can still be allocated, compared with trying every subset of the free devices.
#include "pkg/inspect/state/shapes.h"

#include <gtest/gtest.h>

#include <map>

#include "pkg/base/random.h"
#include "pkg/inspect/state/state.h"
#include "pkg/inventory/amount.h"

namespace dra::inspect {
namespace {

struct MigWorld {
  Objects objects;
  std::string describe;
};

// One or two partitionable devices, of 4 to 8 memory slices each; some partitions held, some tainted.
MigWorld random_mig_world(uint64_t seed) {
  SeededRandom random(seed);
  MigWorld world;
  world.describe = "seed " + std::to_string(seed);
  auto node = std::make_shared<api::Node>();
  node->metadata.name = "n";
  world.objects.nodes["n"] = node;
  auto counters = std::make_shared<api::ResourceSlice>();
  auto devices = std::make_shared<api::ResourceSlice>();
  for (auto* slice : {counters.get(), devices.get()}) {
    slice->driver = "d";
    slice->pool = {"p", 1, 2};
    slice->node_name = "n";
  }
  counters->metadata.name = "p-counters";
  devices->metadata.name = "p-devices";
  const uint64_t parents = 1 + random.below(2);
  for (uint64_t g = 0; g < parents; ++g) {
    const std::string set = "set" + std::to_string(g);
    const uint64_t slices = 4 + random.below(5);
    api::CounterSet counter_set{set, {{"engines", std::to_string(2 + random.below(4))}}};
    for (uint64_t i = 0; i < slices; ++i) counter_set.counters["m" + std::to_string(i)] = "1";
    counters->shared_counters.push_back(counter_set);
    for (const uint64_t size : {1, 2, 4}) {
      for (uint64_t start = 0; start + size <= slices; start += size == 4 ? 2 : 1) {
        if (random.below(4) == 0) continue;
        api::Device device;
        device.name = "g" + std::to_string(g) + "-" + std::to_string(size) + "-" + std::to_string(start);
        device.attributes["profile"] = std::to_string(size) + "g";
        api::DeviceCounterConsumption use{set, {{"engines", random.below(3) == 0 ? "0" : "1"}}};
        for (uint64_t i = start; i < start + size; ++i) use.counters["m" + std::to_string(i)] = "1";
        device.consumes_counters.push_back(use);
        if (random.below(8) == 0) device.taints.push_back({"bad", "", "NoSchedule", ""});
        devices->devices.push_back(std::move(device));
      }
    }
  }
  world.objects.slices[counters->metadata.name] = counters;
  world.objects.slices[devices->metadata.name] = devices;
  // Holders, as many as fit in order.
  Objects so_far = world.objects;
  for (const api::Device& device : devices->devices) {
    if (random.below(6) != 0) continue;
    State state(so_far, {});
    if (!state.inventory.device({"d", "p", device.name})->available) continue;
    auto claim = std::make_shared<api::ResourceClaim>();
    claim->metadata.ns = "x";
    claim->metadata.name = claim->metadata.uid = "holder-" + device.name;
    claim->status.allocation.emplace().results.push_back({"r", "d", "p", device.name});
    so_far.claims[claim->metadata.key()] = claim;
  }
  world.objects = so_far;
  return world;
}

// Every subset of the free devices of the shape is tried.
uint32_t most_by_brute_force(const MigWorld& world, const std::string& profile) {
  std::map<std::pair<std::string, std::string>, int64_t> left;
  std::map<std::string, bool> held;
  for (const auto& [key, claim] : world.objects.claims) held[claim->status.allocation->results[0].device] = true;
  std::vector<const api::Device*> free;
  const auto charge = [&](const api::Device& device, int64_t sign) {
    for (const auto& use : device.consumes_counters)
      for (const auto& [name, amount] : use.counters) left[{use.counter_set, name}] -= sign * std::stoll(amount);
  };
  const auto sound = [&] {
    for (const auto& [counter, amount] : left)
      if (amount < 0) return false;
    return true;
  };
  for (const auto& [name, slice] : world.objects.slices)
    for (const api::CounterSet& set : slice->shared_counters)
      for (const auto& [counter, amount] : set.counters) left[{set.name, counter}] += std::stoll(amount);
  for (const auto& [name, slice] : world.objects.slices)
    for (const api::Device& device : slice->devices) {
      if (held[device.name])
        charge(device, 1);
      else if (device.taints.empty() && std::get<std::string>(device.attributes.at("profile")) == profile)
        free.push_back(&device);
    }
  uint32_t best = 0;
  for (uint32_t subset = 0; subset < (1u << free.size()); ++subset) {
    const auto count = static_cast<uint32_t>(__builtin_popcount(subset));
    if (count <= best) continue;
    for (size_t i = 0; i < free.size(); ++i)
      if (subset >> i & 1) charge(*free[i], 1);
    if (sound()) best = count;
    for (size_t i = 0; i < free.size(); ++i)
      if (subset >> i & 1) charge(*free[i], -1);
  }
  return best;
}

TEST(FreeShapes, EqualBruteForceOnRandomMigWorlds) {
  uint32_t compared = 0, some = 0;
  for (uint64_t seed = 1; seed <= 500; ++seed) {
    const MigWorld world = random_mig_world(seed);
    State state(world.objects, {});
    const auto pool = state.inventory.pool("d", "p");
    ASSERT_TRUE(pool) << world.describe;
    ASSERT_EQ(pool->state, inventory::PoolState::kComplete) << world.describe << pool->reason;
    const auto shapes = free_shapes(slices_by_pool(world.objects).at({"d", "p"}), state.inventory.devices(pool->id));
    for (const FreeShape& shape : shapes) {
      EXPECT_TRUE(shape.exact) << world.describe;
      EXPECT_EQ(shape.free, most_by_brute_force(world, shape.name)) << world.describe << " shape " << shape.name;
      ++compared;
      some += shape.free > 0;
    }
  }
  EXPECT_GT(compared, 1000u);
  EXPECT_GT(some, compared / 2);
  EXPECT_LT(some, compared);
}

TEST(FreeShapes, TextNamesWhatIsFreeOnly) {
  EXPECT_EQ(shapes_text({{"1g", 7, 0, true}, {"3g", 2, 2, true}, {"7g", 1, 1, false}}), "2 x 3g or >=1 x 7g");
  EXPECT_EQ(shapes_text({}), "");
}

TEST(FreeShapes, ManyLookalikesAreCountedInBoundedTime) {
  // 40 partitions of one shape, each taking 1 of a counter of 20: the greedy answer is found and proven at once.
  auto slice = std::make_shared<api::ResourceSlice>();
  slice->metadata.name = "s";
  slice->driver = "d";
  slice->pool = {"p", 1, 1};
  slice->node_name = "n";
  slice->shared_counters.push_back({"set", {{"c", "20"}}});
  std::vector<inventory::DeviceInfo> infos;
  for (int i = 0; i < 40; ++i) {
    api::Device device;
    device.name = "d" + std::to_string(i);
    device.attributes["profile"] = std::string("p");
    device.consumes_counters.push_back({"set", {{"c", "1"}}});
    slice->devices.push_back(device);
    inventory::DeviceInfo info;
    info.name = {"d", "p", device.name};
    info.available = true;
    infos.push_back(info);
  }
  const auto shapes = free_shapes({slice.get()}, infos);
  ASSERT_EQ(shapes.size(), 1u);
  EXPECT_EQ(shapes[0].free, 20u);
  EXPECT_TRUE(shapes[0].exact);
}

// A whole card draws on so many counters that their list would drown the partitions.
TEST(Shapes, AWholeCardIsNamedSo) {
  auto slice = std::make_shared<api::ResourceSlice>();
  slice->metadata.name = "s";
  slice->driver = "d";
  slice->pool = {"p", 1, 1};
  slice->node_name = "n";
  const std::map<std::string, std::string, std::less<>> all{{"m0", "1"}, {"m1", "1"}, {"memory", "80Gi"}};
  slice->shared_counters.push_back({"set", {all.begin(), all.end()}});
  for (const bool whole : {true, false}) {
    api::Device& device = slice->devices.emplace_back();
    device.name = whole ? "card" : "half";
    api::DeviceCounterConsumption use{"set", {{"m0", "1"}, {"memory", whole ? "80Gi" : "40Gi"}}};
    if (whole) use.counters["m1"] = "1";
    device.consumes_counters.push_back(use);
  }
  Objects objects;
  auto node = std::make_shared<api::Node>();
  node->metadata.name = "n";
  objects.nodes["n"] = node;
  objects.slices["s"] = slice;
  State state(objects, {});
  const auto pool = state.inventory.pool_on("d", "p", "n");
  ASSERT_TRUE(pool);
  EXPECT_EQ(shapes_text(free_shapes({slice.get()}, state.inventory.devices(pool->id))),
            "1 x m0=1,memory=40Gi or 1 x whole");
}

// The shorter of two exact notations; small and broken amounts as they are.
TEST(Shapes, AmountsAreShort) {
  const auto shown = [](const char* text) {
    return inventory::short_amount_text(inventory::to_amount(*api::Quantity::parse(text)));
  };
  for (const char* text : {"60G", "100G", "80Gi", "127G", "1536Mi", "0", "17", "65536", "999999", "1.5", "1234567"})
    EXPECT_EQ(shown(text), text);
  EXPECT_EQ(shown("29296875Ki"), "30G");
  EXPECT_EQ(shown("85899345920"), "80Gi");
}

}  // namespace
}  // namespace dra::inspect
