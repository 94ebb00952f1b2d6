#include "pkg/protocol/slice_changes.h"

#include <gtest/gtest.h>

#include <set>

#include "pkg/base/random.h"
#include "pkg/protocol/memory_view.h"
#include "test/support/objects.h"

namespace dra::protocol {

using namespace reconcile;
namespace {

const std::string kDriver = "gpu.example.com";

// One pool; its slice i has two devices, i-0 and i-1. Every device has a claim of its own: claim-i-0 and so on.
struct Pool {
  inventory::Inventory inventory;
  MemoryView view;
  SliceChanges changes;
  std::vector<api::ResourceSlice> slices;
  std::vector<Walk> walks;
  bool held = false;  // walks stay where they are
  std::set<std::string> visited;

  // The first device is shared by more claims.
  Pool(int count, size_t more) : Pool(count) {
    for (size_t i = 0; i < more; ++i) {
      auto claim = view.claims.at("default/claim-0-0");
      claim.metadata.name = "shared-" + std::to_string(i);
      view.put(claim);
    }
    held = true;
  }
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
    EnqueueRequests out;
    visited.clear();
    changes.visit(view, inventory, before, after, taints, collect(), out);
    for (Walk& walk : out.walks) walks.push_back(std::move(walk));
    while (!held && go_on()) {
    }
    return visited;
  }
  SliceChanges::Visit collect() {
    return [this](const View&, const api::ResourceClaim& claim, EnqueueRequests&) {
      EXPECT_TRUE(visited.insert(claim.metadata.name).second) << "twice: " << claim.metadata.name;
    };
  }
  // One portion of the oldest walk; false if there is none.
  bool go_on() {
    if (walks.empty()) return false;
    EnqueueRequests out;
    if (!walks.front()(view, out)) walks.erase(walks.begin());
    EXPECT_TRUE(out.walks.empty());
    return true;
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
      if (kind == 1) {  // what is not a fact concerns nobody
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

api::ResourceSlice with_taint(const api::ResourceSlice& slice, size_t device, const std::string& key) {
  api::ResourceSlice made = slice;
  taint(made.devices[device], key);
  return made;
}

TEST(SliceChanges, ManyClaimsAreVisitedInPortions) {
  constexpr size_t kMany = 3 * SliceChanges::kClaimsAtOnce;
  Pool pool(2, kMany);
  pool.change(with_taint(pool.slices[0], 0, "broken"), 0);
  EXPECT_LE(pool.visited.size(), SliceChanges::kClaimsAtOnce);
  // A claim that goes, and one that comes before the place of the walk: its own event reports it.
  pool.view.claims.erase("default/shared-700");
  size_t portions = 0;
  while (pool.go_on()) {
    ++portions;
    EXPECT_LE(pool.visited.size(), (portions + 1) * SliceChanges::kClaimsAtOnce);
  }
  EXPECT_EQ(portions, 3u);
  EXPECT_EQ(pool.visited.size(), kMany) << "all of them, and claim-0-0";
}

TEST(SliceChanges, WhatChangesDuringAWalkIsVisitedAfterIt) {
  Pool pool(2, 2 * SliceChanges::kClaimsAtOnce);
  pool.change(with_taint(pool.slices[0], 0, "broken"), 0);
  ASSERT_EQ(pool.walks.size(), 1u);
  EXPECT_TRUE(pool.change(with_taint(pool.slices[1], 1, "hot"), 1).empty());
  EXPECT_EQ(pool.walks.size(), 1u) << "one walk per pool";
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(pool.go_on());
  EXPECT_FALSE(pool.visited.contains("claim-1-1"));
  while (pool.go_on()) {
  }
  EXPECT_TRUE(pool.visited.contains("claim-1-1"));
  // The walk is over: the next change begins another.
  EXPECT_FALSE(pool.change(with_taint(pool.slices[0], 0, "again"), 0).empty());
  EXPECT_EQ(pool.walks.size(), 1u);
}

TEST(SliceChanges, AWalkOfAnEarlierTermTakesNothingOver) {
  Pool pool(2, 2 * SliceChanges::kClaimsAtOnce);
  pool.change(with_taint(pool.slices[0], 0, "broken"), 0);
  pool.changes.events_end();
  pool.change(with_taint(pool.slices[1], 1, "hot"), 1);
  EXPECT_EQ(pool.walks.size(), 2u);
}

}  // namespace
}  // namespace dra::protocol
