// Incremental state compared with a rebuilt one: after any order of slices and claims, an inventory equals one that
// received only the current objects.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "pkg/base/random.h"
#include "pkg/inventory/device_index.h"
#include "pkg/inventory/inventory.h"

namespace dra::inventory::incremental_test {
namespace {

constexpr int kSlices = 9;

// A slice of the pool: with devices (some names shared with other slices), counter sets, or both.
api::ResourceSlice random_slice(Random& random, int number) {
  api::ResourceSlice slice;
  slice.metadata.name = "s" + std::to_string(number);
  slice.driver = "drv";
  slice.pool = {"p", 1 + static_cast<int64_t>(random.below(random.below(4) == 0 ? 3 : 1)),
                random.below(20) == 0 ? 7 : static_cast<int64_t>(kSlices)};
  if (random.below(12) == 0)
    slice.unknown.emplace().fields = {{"resourceslices.spec.a", "spec.a", api::UnknownField::Why::kName}};
  if (number % 3 == 0) {
    for (uint64_t set = random.below(3), end = set + random.below(3); set < end; ++set)
      slice.shared_counters.push_back({"set" + std::to_string(number / 3) + std::to_string(set),
                                       {{"c", std::to_string(random.below(6))}, {"d", "3"}}});
    if (!slice.shared_counters.empty() && random.below(3) == 0) slice.shared_counters[0].counters.erase("c");
    if (!slice.shared_counters.empty() && random.below(12) == 0) slice.shared_counters[0].name = "set00";
    if (random.below(8) > 0) return slice;
  }
  const uint64_t place = random.below(5);
  if (place < 2) slice.node_name = "n" + std::to_string(place);
  if (place == 2) slice.all_nodes = true;
  if (place == 3) slice.node_selector.emplace().terms.push_back({{{"zone", "In", {"a"}}}, {}});
  slice.per_device_node_selection = place == 4;
  const uint64_t most = random.below(4) == 0 ? 100 : 9;
  const uint64_t count = random.below(most);
  for (uint64_t d = 0; d < count; ++d) {
    api::Device& device = slice.devices.emplace_back();
    device.name = "d" + std::to_string(number) + "-" + std::to_string(d);
    if (random.below(400) == 0) device.name = "d1-0";
    if (place == 4 && random.below(2) == 0) device.node_name = "n" + std::to_string(random.below(2));
    if (place == 4 && device.node_name.empty()) device.all_nodes = true;
    device.allow_multiple_allocations = random.below(3) == 0;
    device.capacity["m"].value = std::to_string(1 + random.below(3));
    if (random.below(30) == 0) device.taints.push_back({"k", "v", "NoSchedule", ""});
    for (uint64_t uses = random.below(3); uses > 0; --uses)
      device.consumes_counters.push_back({"set" + std::to_string(random.below(3)) + std::to_string(random.below(2)),
                                          {{random.below(2) == 0 ? "c" : "d", std::to_string(random.below(3))}}});
  }
  if (count > 0 && !slice.unknown && random.below(6) == 0) {
    slice.unknown.emplace().fields = {
        {"resourceslices.spec.devices.a", "spec.devices[0].a", api::UnknownField::Why::kName}};
    slice.unknown->devices = {{static_cast<uint32_t>(random.below(count)), 0}};
  }
  return slice;
}

// By chance groups on what the devices draw: some lists, some sets without.
void add_groups(Random& random, api::ResourceSlice& slice) {
  if (random.below(2) == 0) return;
  for (api::Device& device : slice.devices)
    for (api::DeviceCounterConsumption& consumption : device.consumes_counters)
      for (uint64_t groups = random.below(3); groups > 0; --groups)
        consumption.compatibility_groups.push_back("g" + std::to_string(random.below(3)));
}

std::string random_bus(Random& random) {
  return "0000:" + std::to_string(10 + random.below(4)) + ":00.0";
}

// Two more pools of the nodes, with names for the same silicon; some without a node.
api::ResourceSlice random_silicon(Random& random, int number) {
  api::ResourceSlice slice;
  slice.metadata.name = "t" + std::to_string(number);
  slice.driver = number % 3 == 0 ? "gpu.nvidia.com" : "other.example.com";
  slice.pool = {number % 3 == 2 ? "q" : "p", 1 + static_cast<int64_t>(random.below(8) == 0), 3};
  const uint64_t place = random.below(8);
  if (place < 4) slice.node_name = "n" + std::to_string(place % 2);
  if (place == 4) slice.all_nodes = true;
  slice.per_device_node_selection = place > 4;
  for (uint64_t d = random.below(5); d > 0; --d) {
    api::Device& device = slice.devices.emplace_back();
    device.name = "d" + std::to_string(number) + "-" + std::to_string(d);
    if (place > 4 && random.below(3) > 0) device.node_name = "n" + std::to_string(random.below(2));
    if (place > 4 && device.node_name.empty()) device.all_nodes = true;
    device.allow_multiple_allocations = random.below(3) == 0;
    device.capacity["m"].value = "2";
    if (random.below(4) > 0) device.attributes["resource.kubernetes.io/pciBusID"] = random_bus(random);
    if (random.below(3) == 0)
      device.attributes["gpu.nvidia.com/uuid"] =
          "GPU-5a0c0000-0000-4000-8000-00000000000" + std::to_string(random.below(4));
    if (random.below(2) == 0) device.attributes["type"] = std::string(random.below(2) == 0 ? "gpu" : "vfio");
  }
  return slice;
}

api::AllocationResult random_silicon_allocation(Random& random) {
  api::AllocationResult result;
  identity::Records records;
  for (uint64_t i = random.below(3) + 1; i > 0; --i) {
    const auto number = random.below(9);
    auto& entry = result.results.emplace_back();
    entry.driver = number % 3 == 0 ? "gpu.nvidia.com" : "other.example.com";
    entry.pool = number % 3 == 2 ? "q" : "p";
    entry.device = "d" + std::to_string(number) + "-" + std::to_string(random.below(5));
    if (random.below(3) == 0) {
      entry.share_id = "share" + std::to_string(random.below(3));
      entry.consumed_capacity["m"] = "1";
    }
    if (random.below(2) == 0) continue;
    identity::Record record;
    if (random.below(2) == 0)
      record.own.push_back("nvidia-uuid gpu-5a0c0000-0000-4000-8000-00000000000" + std::to_string(random.below(4)));
    if (random.below(6) > 0) record.node = "n" + std::to_string(random.below(3));
    if (record.node) (random.below(3) > 0 ? record.own : record.part_of).push_back("pci " + random_bus(random));
    if (random.below(2) == 0) record.type = random.below(2) == 0 ? "gpu" : "vfio";
    record.shared = random.below(6) == 0;
    records.emplace(entry.driver + "/" + entry.pool + "/" + entry.device, record);
  }
  for (std::string& text : identity::encode_records(records))
    result.config.push_back(
        {"FromClass", {}, api::OpaqueConfig{std::string(identity::kRecordDriver), std::move(text)}});
  return result;
}

api::AllocationResult random_allocation(Random& random) {
  api::AllocationResult result;
  for (uint64_t i = random.below(3) + 1; i > 0; --i) {
    auto& entry = result.results.emplace_back();
    entry.driver = "drv";
    entry.pool = "p";
    entry.device = "d" + std::to_string(random.below(kSlices)) + "-" + std::to_string(random.below(5));
    if (random.below(3) > 0) continue;
    entry.share_id = "share" + std::to_string(random.below(3));
    entry.consumed_capacity["m"] = "1";
  }
  return result;
}

// Everything observable about an inventory, as text.
std::string picture(Inventory& inventory) {
  std::string text = std::to_string(inventory.device_count()) + " devices\n";
  for (const PoolInfo& pool : inventory.pools()) {
    const Usage usage = inventory.usage(pool.id);
    text += std::string(pool_state_name(pool.state)) + " '" + pool.reason + "' node " + pool.node + " generation " +
            std::to_string(pool.generation) + " " + std::to_string(pool.seen_slices) + "/" +
            std::to_string(pool.announced_slices) + "+" + std::to_string(pool.obsolete_slices) + " devices " +
            std::to_string(pool.devices) + " held " + std::to_string(pool.held) + " available " +
            std::to_string(pool.available) + " free " + std::to_string(usage.free) + " tainted " +
            std::to_string(usage.tainted) + " refused '" + pool.refused + "'" + (pool.refuses_some ? " some\n" : "\n");
    for (const DeviceInfo& device : inventory.devices(pool.id))
      text += device.slice + "/" + device.name.device + (device.available ? " free " : " ") + device.node + " " +
              std::to_string(device.holders.size()) + " " + device.refused + "\n";
    const Pool& kept = *inventory.device_index().pool(pool.id);
    for (uint32_t d = 0; d < kept.size(); ++d)
      text += kept.is_excluded(d) ? (kept.is_plugins(d) ? 'b' : 'x') : (kept.is_plugins(d) ? 'p' : '.');
  }
  for (const PoolInfo& part : inventory.pools_by_node()) {
    const Usage usage = inventory.usage(part);
    text += "part " + part.node + " " + std::string(pool_state_name(part.state)) + " '" + part.reason + "' " +
            std::to_string(usage.total) + " " + std::to_string(usage.used) + " " + std::to_string(usage.free) + "\n";
  }
  for (const char* name : {"n0", "n1", "n2"}) {
    std::set<std::string> pairs;
    for (const RivalPair& pair : inventory.device_index().silicon().rivals(inventory.node_id(name))) {
      const auto text_of = [&](PoolId pool, uint32_t device) {
        const Pool& of = *inventory.device_index().pool(pool);
        return of.driver_text + of.name_text + std::to_string(device);
      };
      const auto both = std::pair(text_of(pair.pool, pair.device), text_of(pair.other_pool, pair.other));
      pairs.insert(std::min(both.first, both.second) + "=" + std::max(both.first, both.second));
    }
    for (const std::string& pair : pairs) text += pair + " ";
    text += std::string(name) + ":";
    for (const Segment& segment : inventory.device_index().view(inventory.node_id(name)).segments) {
      const Pool& pool = *inventory.device_index().pool(segment.pool);
      text += " " + pool.name_text + (segment.conditional ? "?" : "") +
              std::string(pool_state_name(segment.judgement.state)) + "'" + segment.judgement.reason + "'[";
      for (uint32_t d = 0; d < pool.size(); ++d)
        text += segment.mask.empty() || test_bit(segment.mask.data(), d) ? '1' : '0';
      text += "]";
    }
    text += "\n";
  }
  return text;
}

void test_histories(const Features& features, uint64_t seeds, bool with_groups = false, bool with_silicon = false) {
  for (uint64_t seed = 1; seed <= seeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    SeededRandom random(seed);
    Inventory inventory(features);
    std::map<std::string, api::ResourceSlice> slices;
    std::map<std::string, api::AllocationResult> claims;
    std::map<std::string, PluginDrivers> plugins;
    auto set_up = [](Inventory& of) {
      of.apply_node("n0", {{"zone", "a"}});
      of.apply_node("n1", {{"zone", "b"}});
    };
    set_up(inventory);
    for (int step = 0; step < 120; ++step) {
      const auto number = static_cast<int>(random.below(kSlices));
      const std::string uid = "c" + std::to_string(random.below(6));
      const uint64_t what = random.below(10);
      if (what < 5) {
        api::ResourceSlice slice = with_silicon ? random_silicon(random, number) : random_slice(random, number);
        if (with_groups) add_groups(random, slice);
        slices[slice.metadata.name] = slice;
        inventory.apply_slice(slice);
      } else if (what == 5) {
        slices.erase((with_silicon ? "t" : "s") + std::to_string(number));
        inventory.remove_slice((with_silicon ? "t" : "s") + std::to_string(number));
      } else if (with_silicon && what == 6 && random.below(2) == 0) {
        const std::string node = "n" + std::to_string(random.below(3));
        plugins[node] = {};
        if (random.below(2) == 0)
          plugins[node].emplace(random.below(2) == 0 ? "gpu.nvidia.com" : "other.example.com", "");
        inventory.device_index().set_plugin_drivers(node, plugins[node]);
      } else if (what == 6) {
        claims.erase(uid);
        inventory.remove_claim(uid);
      } else {
        claims[uid] = with_silicon ? random_silicon_allocation(random) : random_allocation(random);
        inventory.apply_allocation(uid, claims[uid]);
      }
      Inventory anew(features);
      set_up(anew);
      for (const auto& [name, slice] : slices) anew.apply_slice(slice);
      for (const auto& [node, drivers] : plugins) anew.device_index().set_plugin_drivers(node, drivers);
      for (const auto& [claim, allocation] : claims) anew.apply_allocation(claim, allocation);
      ASSERT_EQ(picture(inventory), picture(anew)) << "step " << step;
      for (const AuditFinding& finding : inventory.audit())
        ASSERT_NE(finding.kind, AuditFinding::Kind::kDrift) << "step " << step << ": " << finding.message;
    }
    for (int number = 0; number < kSlices; ++number)
      inventory.remove_slice((with_silicon ? "t" : "s") + std::to_string(number));
    for (const auto& [claim, allocation] : claims) inventory.remove_claim(claim);
    EXPECT_EQ(inventory.device_index().strings().size(), Inventory().device_index().strings().size())
        << "names are leaked";
  }
}

TEST(InventoryIncremental, SiliconIsWhatTheSameBuiltAnewWouldBe) {
  test_histories(Features(), 15, false, true);
}

TEST(InventoryIncremental, IsWhatTheSameBuiltAnewWouldBe) {
  test_histories(Features(), 60);
}

TEST(InventoryIncremental, AlsoWithStaleGenerationsAndWithoutCounters) {
  Features stale;
  stale.stale_generations = true;
  test_histories(stale, 30);
  Features plain;
  plain.partitionable = plain.consumable = false;
  test_histories(plain, 30);
}

TEST(InventoryIncremental, AlsoWithCompatibilityGroups) {
  Features on;
  on.compatibility_groups = true;
  test_histories(on, 10, true);
  test_histories(Features(), 3, true);  // their gate off: the pools are incomplete
}

TEST(InventoryBits, InsertingAndRemovingMovesLaterBits) {
  SeededRandom random(7);
  for (int round = 0; round < 2000; ++round) {
    std::vector<bool> plain(random.below(300));
    Words words(words_for(plain.size()), 0);
    for (size_t i = 0; i < plain.size(); ++i) {
      plain[i] = random.below(2) == 0;
      assign_bit(words.data(), i, plain[i]);
    }
    for (int change = 0; change < 4; ++change) {
      const size_t at = random.below(plain.size() + 1);
      if (random.below(2) == 0) {
        const size_t count = random.below(200);
        insert_bits(words, plain.size(), at, count);
        plain.insert(plain.begin() + static_cast<ptrdiff_t>(at), count, false);
      } else {
        const size_t count = random.below(plain.size() - at + 1);
        remove_bits(words, plain.size(), at, count);
        plain.erase(plain.begin() + static_cast<ptrdiff_t>(at), plain.begin() + static_cast<ptrdiff_t>(at + count));
      }
      ASSERT_EQ(words.size(), words_for(plain.size()));
      for (size_t i = 0; i < words.size() * 64; ++i)
        ASSERT_EQ(test_bit(words.data(), i), i < plain.size() && plain[i]) << "round " << round << " bit " << i;
    }
  }
}

}  // namespace
}  // namespace dra::inventory::incremental_test
