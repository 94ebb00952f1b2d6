#include "pkg/reconcile/slice_changes.h"

#include <gtest/gtest.h>

#include <set>

#include "pkg/base/random.h"
#include "pkg/reconcile/memory_view.h"
#include "test/support/objects.h"

namespace dra::reconcile {
namespace {

const std::string kDriver = "gpu.example.com";

// One pool; its slice i has two devices, i-0 and i-1. Every device has a claim of its own: claim-i-0 and so on.
struct Pool {
  inventory::Inventory inventory;
  MemoryView view;
  SliceChanges changes;
  std::vector<api::ResourceSlice> slices;

  explicit Pool(int count) {
    for (int i = 0; i < count; ++i) {
      const std::string n = std::to_string(i);
      api::ResourceSlice slice = test::local_slice(kDriver, "pool", n + "-", 2);
      slice.metadata.name = "slice-" + n;
      slice.pool.resource_slice_count = count;
      for (const api::Device& device : slice.devices) put_claim(device.name);
      slices.push_back(slice);
      inventory.apply_slice(slice);
      concerned(nullptr, &slice);
    }
  }
  void put_claim(const std::string& device) {
    auto claim = test::named<api::ResourceClaim>("claim-" + device);
    claim.status.allocation.emplace();
    auto& result = claim.status.allocation->results.emplace_back();
    result.driver = kDriver;
    result.pool = "pool";
    result.device = device;
    view.put(claim);
  }
  std::set<std::string> concerned(const api::ResourceSlice* before, const api::ResourceSlice* after) {
    const auto taints = [](const api::Device& device) {
      std::string text;
      for (const api::DeviceTaint& taint : device.taints) text += taint.key + ' ';
      return text;
    };
    std::set<std::string> names;
    for (const api::ResourceClaim* claim : changes.concerned(view, inventory, before, after, taints))
      EXPECT_TRUE(names.insert(claim->metadata.name).second) << "twice: " << claim->metadata.name;
    return names;
  }
  std::set<std::string> change(const api::ResourceSlice& to, size_t index) {
    const api::ResourceSlice before = std::exchange(slices[index], to);
    inventory.apply_slice(to);
    return concerned(&before, &to);
  }
  std::set<std::string> all() const {
    std::set<std::string> names;
    for (const auto& [key, claim] : view.claims) names.insert(claim.metadata.name);
    return names;
  }
};

void taint(api::Device& device, const std::string& key) {
  device.taints.emplace_back().key = key;
}

TEST(SliceChanges, OnlyClaimsOfDevicesThatChangedAreConcerned) {
  SeededRandom random(1);
  Pool pool(5);
  for (int step = 0; step < 200; ++step) {
    const size_t index = random.below(pool.slices.size());
    api::ResourceSlice slice = pool.slices[index];
    std::set<std::string> expected;
    for (api::Device& device : slice.devices) {
      const auto kind = random.below(3);
      if (kind == 0) continue;
      if (kind == 1) {  // what is no fact concerns nobody
        device.attributes["serial"] = "s" + std::to_string(step);
        continue;
      }
      device.taints.empty() ? taint(device, "broken") : device.taints.clear();
      expected.insert("claim-" + device.name);
    }
    EXPECT_EQ(pool.change(slice, index), expected) << "step " << step;
  }
}

TEST(SliceChanges, ANewGenerationConcernsTheWholePool) {
  Pool pool(2);
  api::ResourceSlice slice = pool.slices[0];
  slice.pool.generation = 2;
  EXPECT_EQ(pool.change(slice, 0), pool.all()) << "the other slice is of an older generation now";
  slice = pool.slices[1];
  slice.pool.generation = 2;
  EXPECT_EQ(pool.change(slice, 1), pool.all()) << "the pool is complete again";
  slice = pool.slices[1];
  taint(slice.devices[1], "broken");
  EXPECT_EQ(pool.change(slice, 1), (std::set<std::string>{"claim-1-1"}));
}

TEST(SliceChanges, ADeviceThatGoesConcernsItsClaimIfItHadAFact) {
  Pool pool(2);
  api::ResourceSlice slice = pool.slices[0];
  taint(slice.devices[0], "broken");
  pool.change(slice, 0);
  slice.devices.erase(slice.devices.begin());
  EXPECT_EQ(pool.change(slice, 0), (std::set<std::string>{"claim-0-0"}));
}

TEST(SliceChanges, ASliceThatGoesMakesThePoolIncomplete) {
  Pool pool(2);
  pool.inventory.remove_slice("slice-1");
  EXPECT_EQ(pool.concerned(&pool.slices[1], nullptr), pool.all());
}

TEST(SliceChanges, ANewInstanceTakesEveryPoolForChanged) {
  Pool pool(2);
  pool.changes = {};
  api::ResourceSlice slice = pool.slices[0];
  taint(slice.devices[0], "broken");
  EXPECT_EQ(pool.change(slice, 0), pool.all());
}

}  // namespace
}  // namespace dra::reconcile
